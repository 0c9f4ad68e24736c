"""What a card says, as the parts of a description, with what is wrong in it by line."""
