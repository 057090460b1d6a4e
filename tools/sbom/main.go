// Command sbom lists what a release has: the Go modules that are linked into its programs, and the npm packages of the web app, as a CycloneDX document in JSON. The same input
// gives the same bytes: the document has the time of the commit, and a serial number made from its contents.
//
//	go run ./sbom -version v0.1.0 -time 2026-11-28T00:00:00Z -lock ../web/package-lock.json ../bin/rialto
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// component is a module or a package, as CycloneDX 1.6 has it.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type document struct {
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

func run(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("sbom", flag.ContinueOnError)
	fs.SetOutput(errOut)
	version := fs.String("version", "", "`version` of the release (required)")
	at := fs.String("time", "", "`time` of the commit, as 2026-11-28T00:00:00Z (required)")
	lock := fs.String("lock", "", "package-lock.json `file` of the web app (required)")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *version == "" || *at == "" || *lock == "" || fs.NArg() == 0 {
		fmt.Fprintln(errOut, "sbom: give -version, -time, -lock and the programs")
		return 2
	}
	text, err := documentOf(*version, *at, *lock, fs.Args())
	if err != nil {
		fmt.Fprintln(errOut, "sbom:", err)
		return 1
	}
	_, _ = out.Write(text)
	return 0
}

func documentOf(version, at, lock string, programs []string) ([]byte, error) {
	found := map[string]component{}
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, c := range modules(info) {
			found[c.Ref] = c
		}
	}
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	list, err := packages(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	for _, c := range list {
		found[c.Ref] = c
	}
	all := make([]component, 0, len(found))
	for _, c := range found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	d := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Components: all,
		Metadata: metadata{at, component{Type: "application", Ref: "rialto@" + version, Name: "rialto", Version: version, Licenses: []license{{"Apache-2.0"}}}}}
	contents, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	d.SerialNumber = serial(contents)
	text, err = json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
}

// serial returns a UUID of version 8 made from contents.
func serial(contents []byte) string {
	sum := sha256.Sum256(contents)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return "urn:uuid:" + strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// modules are those that are linked into a program, and the standard library. The hash of a module is that of go.sum, over all its files, and no file has it.
func modules(info *buildinfo.BuildInfo) (list []component) {
	add := func(path, version, sum string) {
		c := component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
		c.Ref = c.PURL
		if sum != "" {
			c.Properties = []property{{"go.sum", sum}}
		}
		list = append(list, c)
	}
	add("std", strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go"), "")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" { // those of this repository have none
			add(m.Path, m.Version, m.Sum)
		}
	}
	return list
}

// packages are those of a package-lock.json that the app is made from, without those that only build or test it.
func packages(text []byte) (list []component, err error) {
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, Link                   bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 || p.Dev || p.Link || p.Version == "" {
			continue
		}
		name := path[at+len("node_modules/"):]
		c := component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.ReplaceAll(url.PathEscape(name), "@", "%40") + "@" + p.Version}
		c.PURL = strings.ReplaceAll(c.PURL, "%2F", "/")
		c.Ref = c.PURL
		if sum, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			b, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("the hash of %s: %w", path, err)
			}
			c.Hashes = []hash{{"SHA-512", hex.EncodeToString(b)}}
		}
		if p.License != "" {
			c.Licenses = []license{{p.License}}
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no packages")
	}
	return list, nil
}
