"""Reading NVIDIA devices through the nvidia-smi command; the parsers are pure, and useful elsewhere too."""
