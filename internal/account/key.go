package account

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/id"
)

// CreateKey makes an API key; it is shown this once.
func (s *Service) CreateKey(ctx context.Context, name string) (string, error) {
	key := auth.NewSecret("rk_")
	return key, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO api_keys (sum, name, created_ms) VALUES ($1, $2, $3)`, auth.Sum(key), name, s.nowMs())
		return err
	})
}

// ListKeys gives the names of all API keys, oldest first.
func (s *Service) ListKeys(ctx context.Context) (names []string, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name FROM api_keys ORDER BY created_ms, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return names, rows.Err()
}

// RevokeKey ends the keys of a name, here at once and in other processes within a second, and says how many.
func (s *Service) RevokeKey(ctx context.Context, name string) (n int64, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM api_keys WHERE name = $1`, name)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	s.keys.dropAll()
	return n, err
}

const (
	// keyFresh is how long a key that was found is not looked up again: servers make very many small calls.
	keyFresh = time.Second
	// keyAway is how long a key that was found is good while the records do not answer.
	keyAway = 10 * time.Minute
)

// knownKeys are those that were found, and when.
type knownKeys struct {
	mu    sync.Mutex // guards found
	found map[string]time.Time
}

// age of what is known of a key; none is known where not ok.
func (k *knownKeys) age(key string, now time.Time) (age time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.found[key]
	age = now.Sub(at)
	return age, ok && age >= 0 // a clock that stepped back knows nothing
}

func (k *knownKeys) put(key string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		k.found = map[string]time.Time{}
	}
	k.found[key] = now
}

func (k *knownKeys) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.found, key)
}

func (k *knownKeys) dropAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.found = nil
}

// verifyKey tells whether an API key is one of ours.
func (s *Service) verifyKey(ctx context.Context, key string) (id.Caller, error) {
	now := s.deps.Clock.Now()
	age, known := s.keys.age(key, now)
	if known && age < keyFresh {
		return id.Caller{Server: true}, nil
	}
	var one int
	switch err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM api_keys WHERE sum = $1`, auth.Sum(key)).Scan(&one); {
	case err == nil:
		s.keys.put(key, now)
	case errors.Is(err, sql.ErrNoRows):
		s.keys.drop(key)
		return id.Caller{}, auth.ErrToken
	case !known || age >= keyAway:
		return id.Caller{}, err
	}
	return id.Caller{Server: true}, nil
}
