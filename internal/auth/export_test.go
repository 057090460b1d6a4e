package auth

// Hold takes a slot until it is released.
func (p *Passwords) Hold() (release func()) {
	p.waiting <- struct{}{}
	p.slots <- struct{}{}
	return p.leave
}

// Waiting gives how many run or wait.
func (p *Passwords) Waiting() int { return len(p.waiting) }
