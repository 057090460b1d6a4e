package config

import (
	"strings"
	"testing"
)

// Engines on other machines are reached by TLS, unless the configuration lists them as plaintext.
func TestRemoteEnginesNeedTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	const local, full = "postgres=postgres://localhost/b", "postgres=postgres://db/b?sslmode=verify-full"
	for _, c := range []struct {
		set     []string
		fault   string // its setting and the hosts, or the engine's address
		engine  string
		warning string // its setting and the hosts
	}{
		{set: []string{local}},
		{set: []string{full}},
		{set: []string{"postgres=postgres://rialto@/b?host=/run/postgresql"}},
		{set: []string{"postgres=postgres://canary:canary@db/b"}, fault: "postgres: db", engine: "postgres"},
		{set: []string{"postgres=postgres://canary:canary@db/b?sslmode=disable"}, fault: "postgres: db", engine: "postgres"},
		{set: []string{"postgres=postgres://canary:canary@db/b?sslmode=prefer"}, fault: "postgres: db", engine: "postgres"},
		{set: []string{"postgres=postgres://localhost,db/b"}, fault: "postgres: db", engine: "postgres"},
		{set: []string{"postgres=postgres://canary:canary@b,127.0.0.1,a/b"}, fault: "postgres: b, a", engine: "postgres"},
		{set: []string{local, "cassandra.hosts=10.0.0.5,10.0.0.6"}, fault: "cassandra.hosts: 10.0.0.5, 10.0.0.6", engine: "cassandra"},
		{set: []string{"postgres=postgres://canary:canary@db/b?sslmode=require"}, warning: "postgres: the certificate of db"},
		{set: []string{"postgres=postgres://a,b/b?sslmode=require"}, warning: "postgres: the certificate of a, b"},
		{set: []string{full, "postgres_replicas=postgres://c/b?sslmode=verify-full,postgres://canary:canary@d/b"}, fault: "postgres_replicas: d", engine: "postgres"},
		{set: []string{full, "postgres_replicas=postgres://c/b?sslmode=require"}, warning: "postgres_replicas: the certificate of c"},
		{set: []string{"ids.primaries=postgres://a/b,/var/ids.db"}, fault: "ids.primaries: a", engine: "postgres"},
		{set: []string{local, "cassandra.hosts=127.0.0.1,[::1]:9042,localhost"}},
		{set: []string{local, "cassandra.hosts=127.0.0.1,10.0.0.5"}, fault: "cassandra.hosts: 10.0.0.5", engine: "cassandra"},
		{set: []string{local, "cassandra.hosts=cassandra:9042"}, fault: "cassandra.hosts: cassandra:9042", engine: "cassandra"},
		{set: []string{local, "bus.url=nats://127.0.0.1:4222"}},
		{set: []string{local, "bus.url=tls://canary:canary@nats:4222,tls://nats2:4222"}},
		{set: []string{local, "bus.url=nats://127.0.0.1:4222, nats://canary:canary@nats:4222"}, fault: "bus.url: nats:4222", engine: "nats"},
		{set: []string{local, "bus.url=nats:4222"}, fault: "bus.url: nats:4222", engine: "nats"},
		{set: []string{local, "bus.url=nats://nats:4222", "bus.ca=ca.pem"}},
		{set: []string{"s3.endpoint=http://127.0.0.1:9000", "s3.bucket=b"}},
		{set: []string{"s3.endpoint=https://s3.example.com", "s3.bucket=b"}},
		{set: []string{"backup.s3.endpoint=http://files:9000", "backup.directory=s3://b"}, fault: "backup.s3.endpoint: files:9000", engine: "s3"},
		{set: []string{"backup.s3.endpoint=http://127.0.0.1:9000", "backup.directory=s3://b"}},
		{set: []string{"s3.endpoint=http://files:9000", "s3.bucket=b"}, fault: "s3.endpoint: files:9000", engine: "s3"},
	} {
		config, err := Load("", nil, c.set)
		if c.fault == "" {
			if err != nil {
				t.Errorf("%q: %v", c.set, err)
				continue
			}
			warnings := config.Warnings()
			if (len(warnings) == 1) != (c.warning != "") || len(warnings) > 1 || c.warning != "" && !strings.HasPrefix(warnings[0], c.warning+" is not checked") || strings.Contains(strings.Join(warnings, ""), "canary") {
				t.Errorf("%q warns %q; want one of %q", c.set, warnings, c.warning)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.fault+" may be reached without TLS") || !strings.Contains(err.Error(), "plaintext_engines="+c.engine) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want one fault of %s", c.set, err, c.fault)
		}
		for _, engine := range plaintextEngines {
			config, err := Load("", nil, append([]string{"plaintext_engines=" + engine}, c.set...))
			if (err == nil) != (engine == c.engine) {
				t.Errorf("%q, where %s may be reached without TLS: %v", c.set, engine, err)
			}
			if err != nil {
				continue
			}
			if warnings := config.Warnings(); len(warnings) != 1 || !strings.HasPrefix(warnings[0], c.fault+" may be reached without TLS, as plaintext_engines allows") || strings.Contains(warnings[0], "canary") {
				t.Errorf("%q, which is allowed: the warnings are %q", c.set, warnings)
			}
		}
	}
	if _, err := Load("", nil, []string{"plaintext_engines=mysql"}); err == nil || !strings.Contains(err.Error(), `"mysql" is none of postgres`) {
		t.Errorf("error %v, want one that contains %q", err, `"mysql" is none of postgres`)
	}
	if _, err := Load("", nil, []string{"postgres=postgres://canary:canary@db/b?sslmode=verify-full&sslrootcert=/none.pem"}); err == nil || !strings.HasPrefix(err.Error(), "postgres: ") || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v, want one of postgres without the password", err)
	}
}
