package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

// Engines on other machines are reached by TLS unless the configuration lists them as plaintext. TLS without a check of the server's name
// is a warning: it prevents eavesdropping but not impersonation.

// plaintextEngines may be named in plaintext_engines.
var plaintextEngines = []string{"postgres", "cassandra", "nats", "s3", "redis"}

// remoteEngine is an address of an engine.
type remoteEngine struct {
	setting, engine string
	hosts           []string // without credentials
	security        pglink.Security
	err             error
}

// remotes are the addresses of all engines, but for those that are no addresses at all.
func (c *Config) remotes() (all []remoteEngine) {
	for _, of := range []struct {
		setting string
		list    []string
	}{{"postgres", []string{c.Postgres}}, {"postgres_replicas", c.PostgresReplicas}, {"ids.primaries", c.IDs.Primaries}} {
		for _, address := range of.list {
			if isPostgres(address) && (c.Postgres != "" || of.setting != "postgres_replicas") {
				security, hosts, err := pglink.SecurityOf(address)
				all = append(all, remoteEngine{of.setting, "postgres", hosts, security, err})
			}
		}
	}
	if u, err := url.Parse(c.S3.Endpoint); err == nil && u.Scheme == "http" {
		all = append(all, remoteEngine{"s3.endpoint", "s3", []string{u.Host}, encrypted(loopback.IsHost(u.Hostname())), nil})
	}
	if host := c.Backup.PlaintextHost(); host != "" {
		all = append(all, remoteEngine{"backup.s3.endpoint", "s3", []string{host}, encrypted(loopback.IsHost(loopback.HostOf(host))), nil})
	}
	for _, of := range []struct{ setting, address string }{{"ids.redis", c.IDs.Redis}, {"cache.redis", c.Cache.Redis}} {
		if u, err := url.Parse(of.address); err == nil && u.Scheme == "redis" {
			all = append(all, remoteEngine{of.setting, "redis", []string{u.Host}, encrypted(loopback.IsHost(u.Hostname())), nil})
		}
	}
	if c.Postgres == "" {
		return all // a node alone has no other engines but files; that these are set is a fault of its own
	}
	for _, host := range c.Cassandra.Hosts {
		all = append(all, remoteEngine{"cassandra.hosts", "cassandra", []string{host}, encrypted(loopback.IsHost(loopback.HostOf(host))), nil})
	}
	for _, server := range strings.Split(c.Bus.URL, ",") {
		if server = strings.TrimSpace(server); server == "" {
			continue
		}
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil {
			err = errors.New("it is not an address as nats://host:4222") // without the value, which may have a password
			all = append(all, remoteEngine{"bus.url", "nats", nil, pglink.Plain, err})
			continue
		}
		all = append(all, remoteEngine{"bus.url", "nats", []string{u.Host}, encrypted(u.Scheme == "tls" || u.Scheme == "wss" || c.Bus.CA != "" || loopback.IsHost(u.Hostname())), nil})
	}
	return all
}

func encrypted(is bool) pglink.Security {
	if is {
		return pglink.Verified
	}
	return pglink.Plain
}

// encryptionAdvice says what to do, by engine.
var encryptionAdvice = map[string]string{
	"postgres":  "add sslmode=verify-full to the address",
	"cassandra": "let it be reached through a tunnel on loopback",
	"nats":      "set an address such as tls://host:4222, or bus.ca",
	"s3":        "set an address with https://",
	"redis":     "set an address with rediss://",
}

// checkEncryption refuses engines on other machines that are reached without TLS.
func (c *Config) checkEncryption(fault func(format string, args ...any)) {
	for _, name := range c.PlaintextEngines {
		if !slices.Contains(plaintextEngines, name) {
			fault("plaintext_engines: %q is none of %s", name, strings.Join(plaintextEngines, ", "))
		}
	}
	faulty := map[string][]string{} // hosts of a setting; each setting is one fault
	var settings []remoteEngine     // in their order
	for _, r := range c.remotes() {
		switch {
		case r.err != nil:
			fault("%s: %w", r.setting, r.err)
		case r.security == pglink.Plain && !slices.Contains(c.PlaintextEngines, r.engine):
			if faulty[r.setting] == nil {
				settings = append(settings, r)
			}
			faulty[r.setting] = append(faulty[r.setting], r.hosts...)
		}
	}
	for _, r := range settings {
		fault("%s: %s may be reached without TLS, so that passwords and messages would cross the network unencrypted; %s, or plaintext_engines=%s if nobody else can reach that network",
			r.setting, strings.Join(faulty[r.setting], ", "), encryptionAdvice[r.engine], r.engine)
	}
}

// Warnings are what can be used, and should be otherwise.
func (c *Config) Warnings() (all []string) {
	type kind struct {
		setting  string
		security pglink.Security
	}
	hosts := map[kind][]string{}
	var kinds []kind // in their order
	for _, r := range c.remotes() {
		if r.err != nil || r.security == pglink.Verified {
			continue
		}
		k := kind{r.setting, r.security}
		if hosts[k] == nil {
			kinds = append(kinds, k)
		}
		hosts[k] = append(hosts[k], r.hosts...)
	}
	for _, k := range kinds {
		names := strings.Join(hosts[k], ", ")
		if k.security == pglink.Unverified {
			all = append(all, fmt.Sprintf("%s: the certificate of %s is not checked against the server's name, so that an attacker in between can impersonate the server; add sslmode=verify-full to the address", k.setting, names))
		} else { // plaintext_engines lists it: else it is refused
			all = append(all, fmt.Sprintf("%s: %s may be reached without TLS, as plaintext_engines allows: passwords and messages cross the network unencrypted; nobody else may reach that network", k.setting, names))
		}
	}
	return all
}
