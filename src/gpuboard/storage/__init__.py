"""What must outlive the process: tables, migrations and the folder they live in."""
