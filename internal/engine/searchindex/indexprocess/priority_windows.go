package indexprocess

// SetNiceness does nothing: Windows has no such number.
func SetNiceness(int) error { return nil }

// PreferForOOM does nothing: only Linux has this.
func PreferForOOM() error { return nil }
