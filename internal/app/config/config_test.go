package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// canarySecret is a secret that no error may contain.
const canarySecret = "hunter2-hunter2"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rialto.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEmptyConfigurationUsesDefaults(t *testing.T) {
	for _, path := range []string{"", write(t, ""), write(t, "# only words\n"), write(t, "gateway:\nchat: {}\n---\n")} {
		c, err := Load(path, []string{"HOME=/nowhere", "RIALTO_FAILPOINT=x:1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := (&Config{Data: "data", Listen: "127.0.0.1:7070", OpenSearch: OpenSearch{Replicas: 1}}); !reflect.DeepEqual(c, want) {
			t.Errorf("without a file the configuration is %+v, want only defaults", c)
		}
	}
}

// Environment variables override the file, and flags override both.
func TestPrecedenceOfFileEnvironmentAndFlags(t *testing.T) {
	path := write(t, `
data: from-file
gateway:
  heartbeat: 2s # said
  loops: "3"
  origins:
    - https://a.example.com
    - "*"
media: {max_size: 1000}
plaintext: true
log:
  level: |-
    warn
account:
  issuers:
  - {name: shop, audience: chat, secret: hunter2-hunter2-hunter2-hunter2-hunter2}
  - name: club
    introspection: https://club.example.com/tokens
    client_secret: x
`)
	for _, tc := range []struct {
		environ, set []string
		got          func(*Config) any
		want         any
	}{
		{nil, nil, func(c *Config) any { return c.Data }, "from-file"},
		{[]string{"RIALTO_DATA=from-env"}, nil, func(c *Config) any { return c.Data }, "from-env"},
		{[]string{"RIALTO_DATA=from-env"}, []string{"data=from-flag", "data=from-last=flag"}, func(c *Config) any { return c.Data }, "from-last=flag"},
		{nil, nil, func(c *Config) any { return c.Gateway.Heartbeat }, 2 * time.Second},
		{[]string{"RIALTO_GATEWAY_HEARTBEAT=1500ms"}, nil, func(c *Config) any { return c.Gateway.Heartbeat }, 1500 * time.Millisecond},
		{[]string{"RIALTO_GATEWAY_HEARTBEAT=1500ms"}, []string{"gateway.heartbeat=1s"}, func(c *Config) any { return c.Gateway.Heartbeat }, time.Second},
		{nil, nil, func(c *Config) any { return c.Gateway.Loops }, 3},
		{nil, nil, func(c *Config) any { return c.Gateway.Origins }, []string{"https://a.example.com", "*"}},
		{[]string{"RIALTO_GATEWAY_ORIGINS=http://b:80, http://c"}, nil, func(c *Config) any { return c.Gateway.Origins }, []string{"http://b:80", "http://c"}},
		{nil, []string{"gateway.origins="}, func(c *Config) any { return c.Gateway.Origins }, []string{}},
		{nil, []string{"media.max_size=18446744073709551615"}, func(c *Config) any { return c.Media.MaxSize }, uint64(1<<64 - 1)},
		{nil, []string{"plaintext=false"}, func(c *Config) any { return c.Plaintext }, false},
		{nil, nil, func(c *Config) any { return c.Log.Level }, "warn"},
		{nil, nil, func(c *Config) any { return c.Account.Issuers[0].Secret + c.Account.Issuers[1].Name }, "hunter2-hunter2-hunter2-hunter2-hunter2club"},
	} {
		c, err := Load(path, tc.environ, tc.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.got(c); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%v %v: got %v, want %v", tc.environ, tc.set, got, tc.want)
		}
	}
}

// Each error names the setting and its line, says what to do, and contains no secret.
func TestErrorsNameTheSettingAndItsLine(t *testing.T) {
	for _, tc := range []struct {
		file         string
		environ, set []string
		want         []string
	}{
		{file: "nope: 1", want: []string{"line 1", `"nope"`, "--reference"}},
		{file: "a:\n  b: 1", want: []string{`"a"`}},
		{file: "Gateway:\n  loops: 1", want: []string{`"Gateway"`}},
		{file: "gateway:\n  loops: 1\n  graze: 5s", want: []string{"line 3", `"gateway.graze"`}},
		{file: "gateway:\n  heartbeat: 10", want: []string{"line 2", "gateway.heartbeat", "30s"}},
		{file: "gateway:\n  heartbeat: 0x10s", want: []string{"line 2", "gateway.heartbeat"}},
		{file: "gateway:\n  loops: 3.5", want: []string{"line 2", "gateway.loops", "whole number"}},
		{file: "gateway:\n  loops: [1]", want: []string{"line 2", "gateway.loops", "one value"}},
		{file: "gateway:\n  loops: -1", want: []string{"gateway.loops", "below zero"}},
		{file: "gateway:\n  heartbeat: -5s", want: []string{"gateway.heartbeat", "below zero"}},
		{file: "media:\n  max_size: -1", want: []string{"line 2", "media.max_size"}},
		{file: "gateway: 5", want: []string{"line 1", "gateway must hold settings"}},
		{file: "- data", want: []string{"line 1", "the file must hold settings"}},
		{file: "gateway:\n  origins: https://x", want: []string{"line 2", "gateway.origins", "list"}},
		{file: "gateway:\n  origins: [[https://x]]", want: []string{"line 2", "gateway.origins", "one value"}},
		{file: "plaintext: yes", want: []string{"line 1", "plaintext", "true nor false"}},
		{file: "data: a\ndata: b", want: []string{"line 2", "data"}},
		{file: "data: a\n---\ndata: b", want: []string{"line 3", "second document"}},
		{file: "data: &x a", want: []string{"line 1", "data", "one value"}},
		{file: "\tdata: x", want: []string{"line 1"}},
		{file: "account:\n  issuers:\n  - name: x\n    secret: " + canarySecret + "\n    bogus: 1", want: []string{"line 5", "account.issuers[0].bogus"}},
		{file: "account:\n  issuers:\n  - name: x\n    secret: [" + canarySecret + "]", want: []string{"line 4", "account.issuers[0].secret"}},
		{file: "account:\n  issuers:\n  - name: x\n    audience: y\n    secret: " + canarySecret, want: []string{"account.issuers", "32 bytes"}},
		{file: "account:\n  issuers:\n  - " + canarySecret, want: []string{"line 3", "account.issuers[0] must hold"}},
		{file: "account:\n  issuers: " + canarySecret, want: []string{"line 2", "account.issuers", "list"}},
		{file: "account: " + canarySecret, want: []string{"line 1", "account must hold"}},
		{file: "account:\n  issuers:\n  - secret: \"" + canarySecret, want: []string{"line 3"}},
		{file: "account:\n  issuers:\n  - secret: " + canarySecret + "\n   name: x", want: []string{"line 4"}},
		{environ: []string{"RIALTO_ACCOUNT_SECRET=" + canarySecret}, want: []string{"environment: RIALTO_ACCOUNT_SECRET is no setting"}},
		{environ: []string{"RIALTO_ACCOUNT_ISSUERS=" + canarySecret}, want: []string{"account.issuers", "file only"}},
		{file: "search:\n  recency_weight: 60", want: []string{`line 2: "search.recency_weight" is no setting any more`, "the weight search_recency,", "console"}},
		{environ: []string{"RIALTO_SEARCH_POPULARITY_WEIGHT=7"}, want: []string{"RIALTO_SEARCH_POPULARITY_WEIGHT is no setting any more", "the weight search_popularity,"}},
		{environ: []string{"RIALTO_SEARCH_DICTIONRAY=x"}, want: []string{"RIALTO_SEARCH_DICTIONRAY is no setting", `did you mean "RIALTO_SEARCH_DICTIONARY"?`}},
		{set: []string{"search.recency_haf_life=1h"}, want: []string{`"search.recency_haf_life" is no setting; did you mean "search.recency_half_life"?`}},
		{environ: []string{"RIALTO_GATEWAY_GRACE=soon"}, want: []string{"RIALTO_GATEWAY_GRACE", "30s"}},
		{set: []string{"account.issuers[0].secret=" + canarySecret}, want: []string{`"account.issuers[0].secret" is no setting`}},
		{set: []string{"account.issuers=" + canarySecret}, want: []string{"account.issuers", "file only"}},
		{set: []string{canarySecret}, want: []string{"NAME=VALUE"}},
		{set: []string{"log.level=loud"}, want: []string{"log.level", "warn"}},
		{set: []string{"log.format=xml"}, want: []string{"log.format", "json"}},
		{set: []string{"listen=7070"}, want: []string{"listen", "HOST:PORT"}},
		{set: []string{"listen=localhost:70700"}, want: []string{"listen", "65535"}},
		{set: []string{"admin=localhost:http"}, want: []string{"admin", "port"}},
		{set: []string{"tcp.listen=7071"}, want: []string{"tcp.listen", "HOST:PORT"}},
		{set: []string{"postgres=postgres://localhost/b", "s3.endpoint=https://x", "s3.bucket=b", "s3.access_key=a", "s3.secret_key=b", "roles=api", "tcp.listen=localhost:1"}, want: []string{"tcp.listen", "gateway"}},
		{set: []string{"tls.cert=cert.pem"}, want: []string{"tls.key"}},
		{set: []string{"tls.cert=no-cert.pem", "tls.key=no-key.pem"}, want: []string{"tls", "no-cert.pem"}},
		{set: []string{"account.device_policy=none"}, want: []string{"account.device_policy", "one_per_type"}},
		{set: []string{"chat.who_may_write=me"}, want: []string{"chat.who_may_write", "friends"}},
		{set: []string{"gateway.grace=6s"}, want: []string{"gateway.grace", "gateway.heartbeat"}},
		{set: []string{"gateway.grace=5m"}, want: []string{"gateway.grace", "at most"}},
		{set: []string{"gateway.origins=example.com"}, want: []string{"gateway.origins", "https://"}},
		{set: []string{"gateway.origins=https://x/"}, want: []string{"gateway.origins", "https://"}},
		{set: []string{"postgres=mysql://rialto:" + canarySecret + "@localhost/rialto"}, want: []string{"postgres", "postgres://user@host/name"}},
		{environ: []string{"RIALTO_POSTGRES=postgres://rialto:" + canarySecret + "@[localhost/rialto"}, want: []string{"postgres", "postgres://user@host/name"}},
		{set: []string{"postgres=postgres://localhost/b", "postgres_replicas=mysql://rialto:" + canarySecret + "@localhost/rialto"}, want: []string{"postgres", "postgres://user@host/name"}},
		{set: []string{"postgres_replicas=postgres://a/b"}, want: []string{"postgres_replicas", "set postgres"}},
		{set: []string{"cassandra.hosts=a,b"}, want: []string{"cassandra.hosts", "set postgres"}},
		{set: []string{"bus.url=nats://a:4222"}, want: []string{"bus.url", "set postgres"}},
		{set: []string{"node=a.b"}, want: []string{"node", "letters"}},
		{set: []string{"roles=gateway"}, want: []string{"roles", "set postgres"}},
		{set: []string{"postgres=postgres://localhost/b", "roles=api,gateway"}, want: []string{"roles", "s3"}},
		{set: []string{"postgres=postgres://localhost/b", "roles=cook"}, want: []string{"roles", `"cook"`, "worker", "feed"}},
		{set: []string{"postgres=postgres://localhost/b", "roles=feed"}, want: []string{"roles", "s3"}},
		{set: []string{"roles=edge"}, want: []string{"roles", "edge.origins", "edge.secret"}},
		{set: []string{"roles=edge,api", "edge.secret=" + strings.Repeat("s", 32), "edge.origins=https://x"}, want: []string{"roles", "no other role than edge"}},
		{set: []string{"roles=edge", "postgres=postgres://localhost/b", "edge.secret=" + strings.Repeat("s", 32), "edge.origins=https://x"}, want: []string{"roles", "leave out postgres"}},
		{set: []string{"edge.secret=" + canarySecret}, want: []string{"edge.secret", "32"}},
		{set: []string{"roles=edge", "edge.secret=" + strings.Repeat("s", 32), "edge.origins=http://x.example"}, want: []string{"edge.origins", "https://"}},
		{set: []string{"edge.origins=https://x"}, want: []string{"edge.origins", "only an edge"}},
		{set: []string{"s3.cache=1000000"}, want: []string{"s3.cache", "s3.endpoint"}},
		{set: []string{"postgres=postgres://localhost/b", "bus.url=tls://a:4222", "bus.listen=:1"}, want: []string{"bus.url", "bus.listen"}},
		{set: []string{"postgres=postgres://localhost/b", "bus.ca=x.pem"}, want: []string{"bus.url"}},
		{set: []string{"postgres=postgres://localhost/b", "bus.listen=7072"}, want: []string{"bus.listen", "HOST:PORT"}},
		{set: []string{"postgres=postgres://localhost/b", "bus.prefix=a b"}, want: []string{"bus.prefix"}},
		{set: []string{"s3.endpoint=https://x"}, want: []string{"s3.bucket"}},
		{set: []string{"opensearch.urls=http://search:9200"}, want: []string{"opensearch.urls", "https://"}},
		{set: []string{"opensearch.index=team"}, want: []string{"opensearch.urls"}},
		{set: []string{"opensearch.urls=https://search:9200", "opensearch.user=rialto", "opensearch.password=admin"}, want: []string{"opensearch.password", "example"}},
		{set: []string{"opensearch.urls=https://search:9200,https://" + canarySecret + ":x@search:9200"}, want: []string{"opensearch.urls", "without credentials"}},
		{set: []string{"opensearch.urls=https://search:9200", "opensearch.replicas=100"}, want: []string{"opensearch.replicas"}},
		{set: []string{"opensearch.replicas=0"}, want: []string{"opensearch.urls"}},
		{set: []string{"s3.endpoint=https://x", "s3.bucket=b", "s3.access_key=" + canarySecret}, want: []string{"s3.secret_key"}},
		{set: []string{"web.extensions=/dev/null"}, want: []string{"web.extensions", "index.js"}},
		{set: []string{"media.origin=https://files.example.com/path"}, want: []string{"media.origin"}},
		{set: []string{"media.origin=https://files.example.com;script-src"}, want: []string{"media.origin"}},
		{set: []string{"media.origin=https://a.example,https://b.example"}, want: []string{"media.origin"}},
		{set: []string{"gateway.origins=https://*.example.com"}, want: []string{"gateway.origins"}},
	} {
		path := ""
		if tc.file != "" {
			path = write(t, tc.file)
		}
		_, err := Load(path, tc.environ, tc.set)
		if err == nil {
			t.Errorf("%q %v %v was accepted", tc.file, tc.environ, tc.set)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q %v %v: %q does not contain %q", tc.file, tc.environ, tc.set, err, want)
			}
		}
		if strings.Contains(err.Error(), canarySecret) {
			t.Errorf("%q shows a secret", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has more than one error", err)
		}
	}
}

// All errors are reported at once, in the order of file, environment and flags.
func TestAllErrorsAreReportedInOrder(t *testing.T) {
	path := write(t, "nope: 1\ngateway:\n  loops: x\n  graze: 1\nchat:\n  who_may_write: me\nlisten: 1\n")
	_, err := Load(path, []string{"RIALTO_A=1", "RIALTO_PRESENCE_GRACE=x"}, []string{"b=1", "admin=2"})
	if err == nil {
		t.Fatal("the configuration was accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{`"nope"`, "gateway.loops", "gateway.graze", "RIALTO_A", "presence.grace", `"b"`, "listen", "admin", "chat.who_may_write"}
	if len(lines) != len(want) {
		t.Fatalf("got %d errors, want %d: %v", len(lines), len(want), err)
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w) {
			t.Errorf("error %d: got %q, want one about %s", i, lines[i], w)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil, nil); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a missing file: got %v, want an error with its name", err)
	}
}

// An address that other machines can reach needs TLS, or the setting plaintext (admin_open for the admin listener).
func TestRemoteAddressesNeedTLSOrPlaintext(t *testing.T) {
	for _, tc := range []struct {
		address string
		open    bool
	}{
		{"127.0.0.1:7070", false}, {"127.8.9.1:7070", false}, {"localhost:7070", false}, {"[::1]:7070", false}, {"[::ffff:127.0.0.1]:1", false},
		{"0.0.0.0:7070", true}, {":7070", true}, {"[::]:7070", true}, {"192.168.1.5:7070", true}, {"chat.example.com:443", true}, {"localhost.example.com:1", true},
	} {
		if _, err := Load("", nil, []string{"listen=" + tc.address}); (err != nil) != tc.open {
			t.Errorf("listen on %s: %v", tc.address, err)
		} else if err != nil && !(strings.Contains(err.Error(), "tls.cert") && strings.Contains(err.Error(), "plaintext=true")) {
			t.Errorf("%q does not say what to do", err)
		}
		if _, err := Load("", nil, []string{"listen=" + tc.address, "plaintext=true"}); err != nil {
			t.Errorf("listen on %s with plaintext=true: %v", tc.address, err)
		}
		if _, err := Load("", nil, []string{"admin=" + tc.address, "plaintext=true"}); (err != nil) != tc.open {
			t.Errorf("admin on %s: %v", tc.address, err)
		} else if err != nil && !strings.Contains(err.Error(), "admin_open=true") {
			t.Errorf("%q does not say what to do", err)
		}
		if _, err := Load("", nil, []string{"admin=" + tc.address, "admin_open=true"}); err != nil {
			t.Errorf("admin on %s with admin_open=true: %v", tc.address, err)
		}
		// Sockets over TCP need the same.
		if _, err := Load("", nil, []string{"tcp.listen=" + tc.address}); (err != nil) != tc.open {
			t.Errorf("tcp.listen on %s: got error %v, want one: %v", tc.address, err, tc.open)
		} else if err != nil && !(strings.Contains(err.Error(), "tcp.listen") && strings.Contains(err.Error(), "tls.cert")) {
			t.Errorf("%q does not say what to do", err)
		}
		if _, err := Load("", nil, []string{"tcp.listen=" + tc.address, "plaintext=true"}); err != nil {
			t.Errorf("tcp.listen on %s with plaintext=true: %v", tc.address, err)
		}
	}
}

// No two settings have the same environment variable, as a_b.c and a.b_c would.
func TestEachVariableNamesOneSetting(t *testing.T) {
	of := map[string]string{}
	for _, name := range fieldsOf(&Config{}).names {
		if was := of[variable(name)]; was != "" {
			t.Errorf("the variable %s names two settings: %s and %s", variable(name), was, name)
		}
		of[variable(name)] = name
	}
}

// FuzzFile: any file is accepted, or rejected with a text.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"data: x", "gateway: {loops: 1}", "a: &x [1, *x]", "account:\n  issuers:\n  - name: x\n", "? x\n: y", "<<: {data: x}", "!!set {a, b}", "data: |\n  x", "data: >-\n  x", "---\n...\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fault := range readFile([]byte(text), fieldsOf(&Config{})) {
			if fault.Error() == "" {
				t.Error("a fault has no text")
			}
		}
	})
}

// Without a setting there is one replica, and none is a number of them.
func TestReplicasOfOpenSearch(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want int
	}{{nil, 1}, {[]string{"opensearch.replicas=0"}, 0}, {[]string{"opensearch.replicas=3"}, 3}} {
		got, err := Load("", nil, append([]string{"postgres=postgres://localhost/b", "opensearch.urls=https://search:9200"}, c.set...))
		if err != nil || got.OpenSearch.Cluster().Replicas != c.want {
			t.Errorf("with %q there are %d: %v", c.set, got.OpenSearch.Cluster().Replicas, err)
		}
	}
}
