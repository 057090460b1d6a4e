package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// replaced replaces parts of a text. Each part must exist.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("cannot replace %q: the text does not contain it", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// quietly runs a program that checks its input. It must succeed.
func quietly(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// checkSettings validates a configuration with rialto check.
func checkSettings(t *testing.T, file string, env []string) {
	t.Helper()
	args := []string{"check"}
	if file != "" {
		args = append(args, "--config", file)
	}
	cmd := exec.Command(nodetest.Static(t), args...)
	cmd.Env = append([]string{"PATH=/bin"}, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("rialto check of %v: %v\n%s", env, err, out)
	}
}
