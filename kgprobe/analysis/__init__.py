"""Tables from outcomes and beliefs."""
