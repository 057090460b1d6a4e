package app

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command line that means nothing, or several things, is refused, with what is wrong.
func TestCommandLinesOfBackups(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"", "give one of --url", 2},
		{"--url http://127.0.0.1:1", "--key is missing", 2},
		{"--url http://127.0.0.1:1 --key k --data d", "give one of --url", 2},
		{"--url http://127.0.0.1:1 --key k --to d", "backup.directory", 2},
		{"--url http://127.0.0.1:1 --key @absent", "no such file", 1},
		{"--data d", "--to is missing", 2},
		{"--data d --to b --rate -1", "the number must be at least 1", 2},
		{"--data d --to b --set backup.s3.region=r", "for backups in a bucket", 2},
		{"--data d --to s3://b/Upper", "is no s3://", 2},
		{"--to s3://b/p --list --set backup.s3.endpoint=http://files:9000", "plaintext_engines", 2},
		{"--to s3://b/p --list --set backup.s3.access_key=a", "backup.s3.secret_key", 2},
		{"--url http://127.0.0.1:1 --key k --operator olga", "name of the key", 2},
		{"--data d --to b --operator a\u202eb", "--operator is one line", 2},
		{"--data d --to b more", "unexpected argument", 2},
		{"--data absent --to b", "is no data directory", 1},
		{"--list --to absent", "has no backups", 1},
		{"--remove one --to absent", "has no backups", 1},
	} {
		var out, errOut bytes.Buffer
		if code := BackupMain(t.Context(), strings.Fields(c.args), &out, &errOut); code != c.code || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("rialto backup %s exits with %d, and says %q, want %d and %q", c.args, code, errOut.String(), c.code, c.want)
		}
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"", "--from is missing", 2},
		{"--from b", "give one of --data and --check", 2},
		{"--from b --data d --check", "give one of --data and --check", 2},
		{"--from b --data d --starts 600000", "at most", 2},
		{"--from absent --check", "has no backups", 1},
		{"--from absent --check --config c", "for backups in a bucket", 2},
		{"--from s3://b --check --config absent", "no such file", 2},
		{"--from absent --data " + filepath.Join(dir, "to"), "has no backups", 1},
	} {
		var out, errOut bytes.Buffer
		if code := RestoreMain(t.Context(), strings.Fields(c.args), &out, &errOut); code != c.code || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("rialto restore %s exits with %d, and says %q, want %d and %q", c.args, code, errOut.String(), c.code, c.want)
		}
	}
	var out, errOut bytes.Buffer
	key := filepath.Join(dir, "key")
	if code := BackupMain(t.Context(), []string{"--new-key", key}, &out, &errOut); code != 0 || !strings.Contains(out.String(), "recipient: age1") {
		t.Errorf("a new key exits with %d: %s%s", code, out.String(), errOut.String())
	}
	if info, err := os.Stat(key); err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("the private key has the mode %v (%v)", info, err)
	}
}
