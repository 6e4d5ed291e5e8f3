"""What each screen shows, gathered from other rooms: one file a screen."""
