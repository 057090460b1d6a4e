// Package auth has the pure parts of authentication: password hashes, access tokens, opaque secrets. It keeps no state but
// keys; sessions are the account room's. All functions and methods may be called from many goroutines.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Argon2id's parameters: OWASP's minimum. Raising them rehashes at the next login.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
)

// waitingMost for each that runs: with some 30 ms for a hash, those at the end wait a few seconds.
const waitingMost = 64

// Passwords hashes and checks passwords. So many run at once that memory stays bounded: each takes 19 MiB.
type Passwords struct {
	slots   chan struct{}
	waiting chan struct{} // those who run, and those who wait
	decoy   string
}

// ErrBusy is the answer to those who would wait too long.
var ErrBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 2 * time.Second}

// NewPasswords lets n hashes run at once; others wait, up to a bound, and then fail with ErrBusy.
func NewPasswords(n int) *Passwords {
	p := &Passwords{slots: make(chan struct{}, n), waiting: make(chan struct{}, n*waitingMost)}
	p.decoy = hash("a password that nobody has")
	return p
}

// enter waits for a slot; leave gives it back.
func (p *Passwords) enter(ctx context.Context) error {
	select {
	case p.waiting <- struct{}{}:
	default:
		return ErrBusy
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-p.waiting
		return ctx.Err()
	}
}

func (p *Passwords) leave() {
	<-p.slots
	<-p.waiting
}

// Hash gives the PHC string of a password.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.enter(ctx); err != nil {
		return "", err
	}
	defer p.leave()
	return hash(password), nil
}

// form of a password that is hashed. One keyboard makes é of one character, another of two; nobody sees which.
func form(password string) []byte { return norm.NFC.Bytes([]byte(password)) }

func hash(password string) string {
	var salt [16]byte
	rand.Read(salt[:]) //nolint:errcheck // never fails
	sum := argon2.IDKey(form(password), salt[:], argonTime, argonMemory, argonThreads, 32)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, e.EncodeToString(salt[:]), e.EncodeToString(sum))
}

// Check compares a password with a PHC string. An empty string stands for an unknown user: it takes as long, and is false.
// rehash says that the string has old parameters.
func (p *Passwords) Check(ctx context.Context, phc, password string) (ok, rehash bool, err error) {
	if err := p.enter(ctx); err != nil {
		return false, false, err
	}
	defer p.leave()
	known := phc != ""
	if !known {
		phc = p.decoy
	}
	var version, memory, time, threads uint32
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, false, errors.New("a stored password hash is not argon2id")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &threads); err != nil {
		return false, false, fmt.Errorf("a stored password hash: %w", err)
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(err1, err2); err != nil {
		return false, false, err
	}
	got := argon2.IDKey(form(password), salt, time, memory, uint8(threads), uint32(len(want)))
	ok = subtle.ConstantTimeCompare(got, want) == 1 && known
	return ok, memory != argonMemory || time != argonTime || threads != argonThreads, nil
}

// NewSecret gives a random secret of 256 bits with a prefix that says what it is for.
func NewSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Sum is what is stored of a secret. A secret has 256 bits, so a plain hash is enough.
func Sum(secret string) []byte {
	s := sha256.Sum256([]byte(secret))
	return s[:]
}
