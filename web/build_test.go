package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestBuiltAgain: scripts/web.sh builds the app if a source differs, whatever the times of the files say.
func TestBuiltAgain(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("../scripts/web.sh")
	if err != nil {
		t.Fatal(err)
	}
	write("scripts/web.sh", string(script), 0o700)
	for _, name := range []string{"web/src/a.ts", "web/src/b.ts", "web/public/icon.svg", "web/index.html", "web/console.html", "web/vite.config.ts", "web/console.config.ts", "web/emoji.ts", "web/tsconfig.json", "web/package-lock.json", "sdk/ts/src/index.ts", "sdk/ts/package-lock.json"} {
		write(name, "first", 0o600)
	}
	// In place of vite: each build adds a line.
	write("bin/npx", "#!/bin/sh\nif [ -f fail ]; then exit 1; fi\ncase \"$*\" in *console*) mkdir -p dist/console; echo built >dist/console/console.html; exit;; esac\nmkdir -p dist\necho built >>dist/index.html\n", 0o700)
	build := func() (builds int, err error) {
		t.Helper()
		cmd := exec.Command(filepath.Join(root, "scripts/web.sh"))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		page, readErr := os.ReadFile(filepath.Join(root, "web/dist/index.html"))
		if readErr != nil {
			t.Fatalf("%v\n%s", readErr, out)
		}
		return len(page) / len("built\n"), err
	}
	expect := func(want int, why string) {
		t.Helper()
		if got, err := build(); err != nil || got != want {
			t.Fatalf("%s: %d builds, not %d (%v)", why, got, want, err)
		}
	}
	expect(1, "nothing was built")
	expect(1, "nothing changed")
	write("web/src/a.ts", "second", 0o600)
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "web/src/a.ts"), past, past); err != nil {
		t.Fatal(err)
	}
	expect(2, "a source changed to one that is older than the build")
	write("sdk/ts/src/index.ts", "second", 0o600)
	expect(3, "the SDK changed")
	if err := os.Remove(filepath.Join(root, "web/src/b.ts")); err != nil {
		t.Fatal(err)
	}
	expect(4, "a source was removed")
	write("web/emoji.ts", "second", 0o600)
	write("web/fail", "", 0o600)
	if _, err := build(); err == nil {
		t.Fatal("a build that fails is reported as done")
	}
	if err := os.Remove(filepath.Join(root, "web/fail")); err != nil {
		t.Fatal(err)
	}
	expect(5, "the last build failed")
}
