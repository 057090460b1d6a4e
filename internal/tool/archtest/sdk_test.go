package archtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheSDKBringsNoServer compiles the readme's Go program as a user would, in a separate module, and checks its dependencies.
func TestTheSDKBringsNoServer(t *testing.T) {
	t.Parallel()
	sdk, err := filepath.Abs("../../../sdk/go")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(read("../../../README.md"))
	if program == nil {
		t.Fatal("the readme has no Go program")
	}
	dir := t.TempDir()
	goVersion := regexp.MustCompile(`(?m)^go .*$`).Find(read(sdk + "/go.mod"))
	mod := fmt.Sprintf("module example.org/app\n\n%s\n\nrequire github.com/rialto-im/rialto/sdk/go v0.1.0\n\nreplace github.com/rialto-im/rialto/sdk/go => %s\n", goVersion, sdk)
	for name, text := range map[string][]byte{"main.go": program[1], "go.mod": []byte(mod), "go.sum": read(sdk + "/go.sum")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) []string {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0")
		c.Stderr = t.Output()
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		return strings.Fields(string(out))
	}
	command("build", "-o", os.DevNull, ".")
	modules := command("list", "-m", "-f", "{{.Path}}", "all")
	want := []string{"example.org/app", "connectrpc.com/connect", "github.com/coder/websocket", "github.com/golang/protobuf", "github.com/google/go-cmp", "github.com/rialto-im/rialto/sdk/go", "google.golang.org/protobuf"}
	if !slices.Equal(modules, want) {
		t.Errorf("modules: got %q, want %q", modules, want)
	}
	for _, p := range command("list", "-deps", ".") {
		ours, _ := strings.CutPrefix(p, "github.com/rialto-im/rialto/")
		if ours != p && ours != "sdk/go" && ours != "sdk/go/reconnect" && !strings.HasPrefix(ours, "sdk/go/gen/") && !strings.HasPrefix(ours, "sdk/go/internal/") {
			t.Errorf("the program depends on %s, a package of the server", p)
		}
	}
}
