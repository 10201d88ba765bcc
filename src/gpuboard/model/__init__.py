"""Facts without behaviour: what nodes say, what the board knows, how things fail. No I/O."""
