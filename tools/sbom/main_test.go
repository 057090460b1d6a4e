package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// The document names the modules of a program with their hashes, and the packages of the app without those that only build it. Two are the same.
func TestTheDocument(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(t.TempDir(), "lock.json")
	if err := os.WriteFile(lock, []byte(`{"packages": {"": {"version": "1"}, "node_modules/react": {"version": "19.0.0", "integrity": "sha512-AAEC", "license": "MIT"},
		"node_modules/a/node_modules/@b/c": {"version": "2.0.0"}, "node_modules/vite": {"version": "7.0.0", "dev": true}, "node_modules/own": {"link": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		var out, errOut strings.Builder
		if code := run([]string{"-version", "v1.2.3", "-time", "2026-11-28T00:00:00Z", "-lock", lock, program}, &out, &errOut); code != 0 {
			t.Fatal(code, errOut.String())
		}
		texts = append(texts, out.String())
	}
	if texts[0] != texts[1] {
		t.Error("two documents of the same input differ")
	}
	var d document
	if err := json.Unmarshal([]byte(texts[0]), &d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || d.Metadata.Component.Version != "v1.2.3" || !strings.HasPrefix(d.SerialNumber, "urn:uuid:") || len(d.SerialNumber) != 45 {
		t.Errorf("the document is %+v", d)
	}
	var refs []string
	for _, c := range d.Components {
		refs = append(refs, c.Ref)
	}
	if !slices.IsSorted(refs) {
		t.Errorf("the components are not sorted: %q", refs)
	}
	for _, want := range []string{"pkg:npm/react@19.0.0", "pkg:npm/%40b/c@2.0.0"} {
		if !slices.Contains(refs, want) {
			t.Errorf("%s is missing in %q", want, refs)
		}
	}
	if slices.ContainsFunc(refs, func(r string) bool { return strings.Contains(r, "vite") || strings.Contains(r, "own") }) || !slices.ContainsFunc(refs, func(r string) bool { return strings.HasPrefix(r, "pkg:golang/std@1.") }) {
		t.Errorf("the components are %q", refs)
	}
	if at := slices.Index(refs, "pkg:npm/react@19.0.0"); at < 0 || d.Components[at].Hashes[0].Content != "000102" || d.Components[at].Licenses[0].Expression != "MIT" {
		t.Errorf("react is %+v", d.Components[at])
	}
}

// A replaced module is listed as what replaces it, and one of this repository is not.
func TestModules(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.1 X:exp", Deps: []*debug.Module{{Path: "a", Version: "v1.0.0", Sum: "h1:a"}, {Path: "b", Version: "v1.0.0", Replace: &debug.Module{Path: "c", Version: "v2.0.0"}},
		{Path: "own", Version: "v0.0.0", Replace: &debug.Module{Path: "./own"}}}}
	var got []string
	for _, c := range modules(info) {
		got = append(got, c.Ref)
	}
	if want := []string{"pkg:golang/std@1.26.1", "pkg:golang/a@v1.0.0", "pkg:golang/c@v2.0.0"}; !slices.Equal(got, want) {
		t.Errorf("the modules are %q, want %q", got, want)
	}
}

// What is no program, or has no packages, is refused.
func TestWrongInput(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{"give -version": {program}, "no packages": {"-version", "v1", "-time", "t", "-lock", empty, program}, "no such file": {"-version", "v1", "-time", "t", "-lock", "absent", program},
		"unrecognized": {"-version", "v1", "-time", "t", "-lock", empty, empty}} {
		var out, errOut strings.Builder
		if code := run(args, &out, &errOut); code == 0 || !strings.Contains(errOut.String(), want) || out.Len() > 0 {
			t.Errorf("%q: got %d, %s, want %q", args, code, errOut.String(), want)
		}
	}
}
