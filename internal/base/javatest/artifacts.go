// Package javatest runs servers that are published as Maven artifacts. For tests only.
//
// Artifacts are fetched once, by Maven with its own settings, into the user's cache directory. A server ends with the process that started it, even if that is
// killed (on Linux).
package javatest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const install = "apt-get install default-jre-headless maven, or scripts/setup.sh cluster"

// Server that Maven can fetch.
type Server struct {
	// Name and Version of the server, for messages and for the folder of its artifacts.
	Name, Version string
	// Artifacts, as group:artifact:version. Those that they depend on are fetched as well.
	Artifacts []string
}

// project returns the Maven project that fetches the artifacts.
func (s *Server) project() (string, error) {
	var b strings.Builder
	b.WriteString("<project><modelVersion>4.0.0</modelVersion><groupId>im.rialto</groupId><artifactId>javatest</artifactId><version>1</version><dependencies>\n")
	for _, a := range s.Artifacts {
		parts := strings.Split(a, ":")
		if len(parts) != 3 {
			return "", fmt.Errorf("%q is not group:artifact:version", a)
		}
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n", parts[0], parts[1], parts[2])
	}
	b.WriteString("</dependencies></project>\n")
	return b.String(), nil
}

// Fetch returns the java program and the folder with the jars, which Maven fetches if they are missing. It says so to say.
func (s *Server) Fetch(ctx context.Context, say io.Writer) (java, jars string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("missing: java, which %s needs; %s", s.Name, install)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	home := filepath.Join(cache, "rialto", strings.ToLower(s.Name)+"-"+s.Version)
	jars = filepath.Join(home, "jars")
	if _, err := os.Stat(jars); err == nil {
		return java, jars, nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", "", fmt.Errorf("missing: mvn, which fetches %s; %s", s.Name, install)
	}
	fmt.Fprintf(say, "fetching %s %s with Maven, once (about 70 MB)\n", s.Name, s.Version)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp(home, "fetch-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	project, err := s.project()
	if err != nil {
		return "", "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(project), 0o644); err != nil {
		return "", "", err
	}
	fetch := exec.CommandContext(ctx, maven, "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=jars", "-DincludeScope=runtime")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("fetching %s with Maven: %w\n%s", s.Name, err, out)
	}
	// Rename, so that the folder is complete or missing; another process may have been faster.
	err = os.Rename(filepath.Join(dir, "jars"), jars)
	if _, there := os.Stat(jars); there == nil {
		err = nil
	}
	return java, jars, err
}
