"""What reports share: pages, tables, colours, wording, and values for JSON."""
