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

	"golang.org/x/crypto/argon2"
)

// Argon2id's parameters: OWASP's minimum. Raising them rehashes at the next login.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
)

// Passwords hashes and checks passwords. So many run at once that memory stays bounded: each takes 19 MiB.
type Passwords struct {
	slots chan struct{}
	decoy string
}

// NewPasswords lets n hashes run at once; others wait.
func NewPasswords(n int) *Passwords {
	p := &Passwords{slots: make(chan struct{}, n)}
	p.decoy = hash("a password that nobody has")
	return p
}

func (p *Passwords) enter(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Hash gives the PHC string of a password.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	if err := p.enter(ctx); err != nil {
		return "", err
	}
	defer func() { <-p.slots }()
	return hash(password), nil
}

func hash(password string) string {
	var salt [16]byte
	rand.Read(salt[:]) //nolint:errcheck // never fails
	sum := argon2.IDKey([]byte(password), salt[:], argonTime, argonMemory, argonThreads, 32)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, e.EncodeToString(salt[:]), e.EncodeToString(sum))
}

// Check compares a password with a PHC string. An empty string stands for an unknown user: it takes as long, and is false.
// rehash says that the string has old parameters.
func (p *Passwords) Check(ctx context.Context, phc, password string) (ok, rehash bool, err error) {
	if err := p.enter(ctx); err != nil {
		return false, false, err
	}
	defer func() { <-p.slots }()
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
	got := argon2.IDKey([]byte(password), salt, time, memory, uint8(threads), uint32(len(want)))
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
