package bridge

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Roots returns the certificates of a file in PEM; nil, which are those of the system, without a file.
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return roots, nil
}

// Rooms returns the rooms of a list with commas, normalized.
func Rooms(list string, normalize func(room string) string) []string {
	rooms := strings.Split(list, ",")
	for n := range rooms {
		rooms[n] = normalize(strings.TrimSpace(rooms[n]))
	}
	return rooms
}

const reconnectFirst, reconnectLongest = time.Second, time.Minute

// KeepConnected connects again and again until ctx ends. connect returns when its connection has ended, or could not be made. Delays between attempts grow, each with a random part.
func KeepConnected(ctx context.Context, connect func()) {
	delay := reconnectFirst
	for ctx.Err() == nil {
		began := time.Now()
		connect()
		if time.Since(began) > reconnectLongest {
			delay = reconnectFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay/2 + rand.N(delay/2)):
		}
		delay = min(2*delay, reconnectLongest)
	}
}

// WriteFile writes a file that is whole, or as it was before, also after a power failure. When it has returned nil, the file is durable.
func WriteFile(path string, raw []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
