"""The border: bytes from outside become checked, cleaned facts here, and nowhere else."""
