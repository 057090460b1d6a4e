package cassandratest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// version of Cassandra that is tested; docs/operating/cassandra.md names it.
const version = "5.0.5"

const install = "apt-get install default-jre-headless maven, or scripts/setup.sh cluster"

// project is the Maven project that fetches Cassandra and its dependencies.
const project = `<project><modelVersion>4.0.0</modelVersion><groupId>im.rialto</groupId><artifactId>cassandratest</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>` + version + `</version></dependency></dependencies></project>
`

// artifacts returns the java program and the folder with Cassandra's jars, which Maven fetches if they are missing.
func artifacts(ctx context.Context, say io.Writer) (java, jars string, err error) {
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", fmt.Errorf("missing: java, which Cassandra needs; %s", install)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	home := filepath.Join(cache, "rialto", "cassandra-"+version)
	jars = filepath.Join(home, "jars")
	if _, err := os.Stat(jars); err == nil {
		return java, jars, nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", "", fmt.Errorf("missing: mvn, which fetches Cassandra; %s", install)
	}
	fmt.Fprintf(say, "fetching Cassandra %s with Maven, once (about 70 MB)\n", version)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp(home, "fetch-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(project), 0o644); err != nil {
		return "", "", err
	}
	fetch := exec.CommandContext(ctx, maven, "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=jars", "-DincludeScope=runtime")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("fetching Cassandra with Maven: %w\n%s", err, out)
	}
	// Rename, so that the folder is complete or missing; another process may have been faster.
	err = os.Rename(filepath.Join(dir, "jars"), jars)
	if _, there := os.Stat(jars); there == nil {
		err = nil
	}
	return java, jars, err
}
