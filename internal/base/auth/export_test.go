package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Hold takes a slot until it is released.
func (p *Passwords) Hold() (release func()) {
	p.waiting <- struct{}{}
	p.slots <- struct{}{}
	return func() { <-p.slots; <-p.waiting }
}

// SetBusy replaces what tells whether the processors are busy, and what ends the rest of a slot.
func (p *Passwords) SetBusy(busy func() bool, after func(time.Duration, func()) *time.Timer) {
	p.busy, p.after = busy, after
}

// Occupied returns how many slots are taken, or rest.
func (p *Passwords) Occupied() int { return len(p.slots) }

// Waiting returns how many run or wait.
func (p *Passwords) Waiting() int { return len(p.waiting) }

// Plain returns one form of what differs in case, or in the way a character is written.
func Plain(text string) string { return plain(text) }

// Patterned reports whether a password repeats a few characters, or consists of runs.
func Patterned(p string) bool { return patterned(p) }

// ReplaceKey makes the deployment's key another one. Tokens that were verified before are still known.
func (t *Tokens) ReplaceKey(seed []byte) { t.key = ed25519.NewKeyFromSeed(seed) }

// MaxVerified bounds the tokens that are remembered.
const MaxVerified = maxVerified

// Remember adds n other tokens to those that were verified.
func (t *Tokens) Remember(n int) {
	for i := range n {
		t.verified.add(sha256.Sum256(binary.AppendUvarint(nil, uint64(i))), verifiedToken{})
	}
}

// Verified returns how many tokens are remembered.
func (t *Tokens) Verified() int { return len(t.verified.recent) + len(t.verified.old) }
