"""The board's face to browsers and programs: pages, API, live stream."""
