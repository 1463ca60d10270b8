"""What reports share: pages, tables, colours, wording, and values as JSON has them."""
