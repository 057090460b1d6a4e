package auth

// Hold takes a slot until it is released.
func (p *Passwords) Hold() (release func()) {
	p.waiting <- struct{}{}
	p.slots <- struct{}{}
	return p.leave
}

// Waiting returns how many run or wait.
func (p *Passwords) Waiting() int { return len(p.waiting) }

// Plain returns one form of what differs in case, or in the way a character is written.
func Plain(text string) string { return plain(text) }

// Patterned reports whether a password repeats a few characters, or consists of runs.
func Patterned(p string) bool { return patterned(p) }
