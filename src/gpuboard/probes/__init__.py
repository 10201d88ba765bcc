"""Ways of reading the devices of this machine."""
