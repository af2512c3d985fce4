"""Who a client is: its address, its turn to log in, and how many connections it may hold."""
