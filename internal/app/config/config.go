// Package config composes the packages' Config structs from a file, the environment and flags; later ones win. It reports all errors at
// once. No setting is required: the zero value is the documented default. An error names the setting, its line in a file, and what to do,
// and never shows a secret.
package config

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/bridge"
	"github.com/rialto-im/rialto/internal/service/canary"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/inbox"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
	"github.com/rialto-im/rialto/internal/service/media"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	"github.com/rialto-im/rialto/internal/service/moderation"
	"github.com/rialto-im/rialto/internal/service/officialaccount"
	"github.com/rialto-im/rialto/internal/service/privacy"
	"github.com/rialto-im/rialto/internal/service/push"
	"github.com/rialto-im/rialto/internal/service/search"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	"github.com/rialto-im/rialto/internal/service/video"
	"github.com/rialto-im/rialto/internal/transport/edge"
	"github.com/rialto-im/rialto/internal/transport/gateway"
)

// Config of a node.
type Config struct {
	// Data directory; default ./data.
	Data string `yaml:"data"`
	// Node is this node's name, unique in its cluster; default is the host's name with a few letters that are stored in the
	// data directory.
	Node string `yaml:"node"`
	// Postgres is the address of a database, as postgres://user@host/name?sslmode=verify-full, which stores all users and messages. All nodes
	// with the same database are a cluster. Default none: all data is in the data directory.
	Postgres string `yaml:"postgres"`
	// PostgresReplicas are addresses of replicas of that database, for reads that may be slightly stale. Default none.
	PostgresReplicas []string `yaml:"postgres_replicas"`
	// Roles of this node: gateway (sockets), api (calls, files, the web app), chat (of the calls, those of conversations), feed (of the calls,
	// those of posts), worker (fan-out); default all. In a cluster, nodes may have different roles. The role edge (files from a cache) is for separate nodes, which have no database.
	Roles []string `yaml:"roles"`
	// Listen address of the web app, the API and sockets; default 127.0.0.1:7070.
	Listen string `yaml:"listen"`
	// Admin address for metrics, profiles and health; default 127.0.0.1, one port above listen, or a free one where that is
	// taken. Keep it on loopback: it requires no credentials.
	Admin string `yaml:"admin"`
	// AdminOpen allows an admin address that is not on loopback, for networks that only operators can reach. Default false.
	AdminOpen bool `yaml:"admin_open"`
	// Plaintext allows a listen address that is not on loopback without TLS, for use behind a proxy that terminates TLS. Default false.
	Plaintext bool `yaml:"plaintext"`
	// PlaintextEngines are those of postgres, cassandra, nats and s3 that this node may reach on other machines without TLS, for networks
	// that nobody else can reach. Default none.
	PlaintextEngines []string `yaml:"plaintext_engines"`
	// TLS of the listener. Connections whose TLS ends in a proxy are cheaper.
	TLS TLS `yaml:"tls"`
	TCP TCP `yaml:"tcp"`
	// Stomp serves clients of STOMP 1.2.
	Stomp Stomp `yaml:"stomp"`
	// Web is what the operator adds to the web app.
	Web Web `yaml:"web"`
	// Public is where clients reach this node itself.
	Public Public `yaml:"public"`

	// StopAfter is how long the node continues to serve after the signal to stop, while /readyz answers that it is not ready: the time that
	// a load balancer needs to notice. Default 0.
	StopAfter time.Duration `yaml:"stop_after"`

	Bus     Bus            `yaml:"bus"`
	Cluster cluster.Config `yaml:"cluster"`
	Storage Storage        `yaml:"storage"`
	// Backup is what rialto backup makes of the data directory while this node runs.
	Backup     backup.Config `yaml:"backup"`
	Cassandra  Cassandra     `yaml:"cassandra"`
	S3         S3            `yaml:"s3"`
	OpenSearch OpenSearch    `yaml:"opensearch"`

	Log              telemetry.Config       `yaml:"log"`
	Account          account.Config         `yaml:"account"`
	Chat             chat.Config            `yaml:"chat"`
	Inbox            inbox.Config           `yaml:"inbox"`
	Presence         directory.Config       `yaml:"presence"`
	Media            media.Config           `yaml:"media"`
	LinkPreviews     linkpreview.Config     `yaml:"link_previews"`
	StreamedMessages streamedmessage.Config `yaml:"streamed_messages"`
	OfficialAccounts officialaccount.Config `yaml:"official_accounts"`
	Push             push.Config            `yaml:"push"`
	Feed             feed.Config            `yaml:"feed"`
	Moderation       moderation.Config      `yaml:"moderation"`
	Video            video.Config           `yaml:"video"`
	Search           search.Config          `yaml:"search"`
	// ServerEvents are what business servers and bots receive of conversations.
	ServerEvents serverevent.Config `yaml:"server_events"`
	// Bridges to other message systems.
	Bridges bridge.Config `yaml:"bridges"`
	// Transactions of messages by business servers.
	Transactions messagetransaction.Config `yaml:"transactions"`
	// Privacy is the export and the erasure of users' data.
	Privacy privacy.Config `yaml:"privacy"`
	// MessageTrace is what nodes remember of messages for rialto where.
	MessageTrace flightrecorder.Config `yaml:"message_trace"`
	// Tracing sends traces of a share of messages and requests to an OpenTelemetry collector.
	Tracing tracing.Config `yaml:"tracing"`
	// Canary sends messages through all nodes all the time, and counts those that are not delivered in time.
	Canary canary.Config `yaml:"canary"`
	// Reconciliation compares stores that have to agree, in the background.
	Reconciliation reconciliation.Config `yaml:"reconciliation"`
	// Jobs configures background jobs: rows that workers run at least once.
	Jobs    job.Config        `yaml:"jobs"`
	Gateway gateway.Config    `yaml:"gateway"`
	Input   inputlimit.Config `yaml:"input"`
	// Limits of what clients may do how often.
	Limits ratelimit.Config `yaml:"limits"`
	// Overload says what is refused while more is asked of a node than it can do.
	Overload overload.Config `yaml:"overload"`
	// Output bounds the memory for unsent output to clients.
	Output outputlimit.Config `yaml:"output"`
	IDs    idservice.Config   `yaml:"ids"`
	// Edge is what edges and the nodes behind them share.
	Edge edge.Config `yaml:"edge"`
	// Cache is where copies of rows are kept.
	Cache cache.SharedConfig `yaml:"cache"`
}

// Storage in the data directory.
type Storage struct {
	// Spare is how many bytes of disk a file in the data directory reserves for a full disk, so that writes in progress complete and users
	// can log in and out; 0 is 64 MiB.
	Spare uint64 `yaml:"spare"`
}

// TLS files, in PEM.
type TLS struct {
	// Cert is the file of the certificate chain; set cert and key, or neither.
	Cert string `yaml:"cert"`
	// Key is the file of the certificate's private key.
	Key string `yaml:"key"`
}

// Web is what the operator adds to the web app.
type Web struct {
	// Extensions is a folder of JavaScript modules that the web app runs: it loads index.js. They can do what the signed-in user can. Default none.
	Extensions string `yaml:"extensions"`
}

// TCP is the listener for sockets without WebSocket.
type TCP struct {
	// Listen address of sockets over TCP, without WebSocket; default none. It has TLS if tls.cert is set. On other addresses than loopback
	// it needs tls.cert, or plaintext.
	Listen string `yaml:"listen"`
	// ProxyProtocol means that proxies begin each connection with a header of the PROXY protocol, version 1 or 2, which names the client's address.
	// It is read from peers on this machine, and with plaintext from all, whose connections without it are closed; default false.
	ProxyProtocol bool `yaml:"proxy_protocol"`
}

// Stomp is where clients of STOMP 1.2 connect.
type Stomp struct {
	// Listen address of STOMP over TCP; default none. TLS is as for tcp.listen.
	Listen string `yaml:"listen"`
	// ProxyProtocol is as for tcp.proxy_protocol; default false.
	ProxyProtocol bool `yaml:"proxy_protocol"`
	// WebSocket serves STOMP over WebSocket at /v1/stomp of the listener; default false.
	WebSocket bool `yaml:"websocket"`
}

// envPrefix of variables: RIALTO_GATEWAY_MAX_CONNECTIONS is gateway.max_connections.
const envPrefix = "RIALTO_"

//go:embed reference.txt
var reference string

// Reference lists all settings, what each is, and its default.
func Reference() string { return reference }

// Load reads a file (none when path is empty), then environ (as of os.Environ), then settings as "gateway.heartbeat=10s". The
// error joins one for each fault.
func Load(path string, environ, settings []string) (*Config, error) {
	c := &Config{OpenSearch: OpenSearch{Replicas: defaultReplicas}}
	fields := fieldsOf(c)
	var faults []error
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the configuration cannot be read: %w", err)
		}
		for _, fault := range readFile(b, fields) {
			faults = append(faults, fmt.Errorf("%s: %w", path, fault))
		}
	}
	faults = append(faults, readEnvironment(environ, fields)...)
	for _, s := range settings {
		name, text, ok := strings.Cut(s, "=")
		if !ok {
			faults = append(faults, errors.New("flag --set: give NAME=VALUE, as gateway.heartbeat=10s"))
		} else if err := fields.set(name, text); err != nil {
			faults = append(faults, fmt.Errorf("flag --set: %w", err))
		}
	}
	faults = append(faults, c.check(fields)...)
	return c, errors.Join(faults...)
}

func readEnvironment(environ []string, fields settable) (faults []error) {
	names := map[string]string{}
	for _, name := range fields.names {
		names[variable(name)] = name
	}
	for _, e := range environ {
		k, text, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(k, envPrefix) || k == envPrefix+"FAILPOINT" {
			continue
		}
		name, ok := names[k]
		if !ok {
			faults = append(faults, fmt.Errorf("environment: %s %s", k, fields.unknown(k, variable)))
		} else if err := fields.set(name, text); err != nil {
			faults = append(faults, fmt.Errorf("environment: %s: %w", k, err))
		}
	}
	return faults
}

// variable of the environment that sets a setting.
func variable(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// settable are the fields of a Config, by their dotted names.
type settable struct {
	names  []string // in the order of the structs
	fields map[string]reflect.Value
}

func fieldsOf(c *Config) settable {
	s := settable{fields: map[string]reflect.Value{}}
	s.collect(reflect.ValueOf(c).Elem(), "")
	return s
}

func (s *settable) collect(v reflect.Value, prefix string) {
	for i := range v.NumField() {
		name := prefix + v.Type().Field(i).Tag.Get("yaml")
		if name == prefix+"-" {
			continue // it is no setting
		}
		if v.Field(i).Kind() == reflect.Struct {
			s.collect(v.Field(i), name+".")
			continue
		}
		s.names = append(s.names, name)
		s.fields[name] = v.Field(i)
	}
}

// set parses a text into the value of a setting.
func (s settable) set(name, text string) error {
	field, ok := s.fields[name]
	if !ok {
		return fmt.Errorf("%q %s", name, s.unknown(name, dotted))
	}
	if err := parse(field, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
