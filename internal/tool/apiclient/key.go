package apiclient

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxKey bounds a file with a key, in bytes.
const maxKey = 4096

// readKey returns a key, which @FILE reads from a file: its only line, without the space around it.
func readKey(key string) (string, error) {
	name, ok := strings.CutPrefix(key, "@")
	if !ok {
		if info, err := os.Stat(key); err == nil && info.Mode().IsRegular() {
			return "", fmt.Errorf("--key: %s is a file; write @%s to read the key from it", key, key)
		}
		return checkKey(key, "the key")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("--key: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("--key: %w", err)
	}
	return checkKey(strings.TrimSpace(string(b)), name)
}

// checkKey refuses what cannot be a key, and could not be sent as one.
func checkKey(key, where string) (string, error) {
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--key: %s is not one key; give what rialto admin key create printed", where)
	}
	return key, nil
}
