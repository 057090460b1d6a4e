// Package opensearch is a search index on the servers of an OpenSearch cluster, which all nodes of Rialto share. It speaks the JSON of its REST interface.
//
// Text is analysed here, by package searchindex, and words are sent as terms: the cluster compares them as they are, so that it finds what an embedded index
// finds, and needs no plugin for a language. A document has its words (t), filter terms (f), the parts of its id (k, p, n), and two numbers for the score (s, g).
// Texts are not stored: the caller has them. A checkpoint is a document as well, with a value (c).
//
// A generation is an index of OpenSearch with a number in its name. The alias of the configured name leads to the one that answers. Writes go by an alias of their
// own, which must exist, so that a write never creates an index without the definition of definition.go.
//
// A batch is several requests, and OpenSearch commits each document on its own. So the documents come first, and the checkpoints when all servers that
// have a copy of the documents have synced them. Each document has the term of its writer as its version: what a later writer has written is not replaced by an earlier one
// that was paused.
//
// Searches use no statistics and no limits of words: a word counts by how well it matches, and words of documents that the filters exclude change nothing but the
// time that a search takes.
package opensearch

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// Config of a cluster.
type Config struct {
	// URLs of servers, as https://search1:9200. Each call goes to one of them, and to the next if that fails.
	URLs []string
	// Name of the index, and prefix of all names that are created in the cluster. Default rialto.
	Name string
	// User and Password, or APIKey, if the cluster requires them.
	User, Password, APIKey string
	// CA is a file with the certificates (PEM) of the servers' authority, if the system does not trust it.
	CA string
	// Shards of a new generation; 0 is 1. Replicas are further copies of each shard.
	Shards, Replicas int
	// Timeout of a search and of other reads, on each server; 0 is 4 s.
	Timeout time.Duration
	// Deployment that the index belongs to. An index of another one is refused.
	Deployment string
	// Calls has the circuit breakers of this process. Without it there is an own one, which no metrics show.
	Calls  *outgoing.Calls
	Logger *slog.Logger
}

const (
	defaultName = "rialto"
	// defaultTimeout is less than callers of a search wait, so that a server that hangs counts as one that fails.
	defaultTimeout = 4 * time.Second
	writeTimeout   = 30 * time.Second
	// maxAnswer bounds an answer, in bytes: ten thousand hits, or the results of a bulk request, have less.
	maxAnswer = 8 << 20
)

var validName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,99}$`)

// weakPasswords are those of examples, which attackers try first.
var weakPasswords = []string{"admin", "changeme", "opensearch", "password", "elastic"}

// Check reports what cannot be, without values that are secret.
func (c Config) Check() error {
	var faults []error
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, errors.New(text))
		}
	}
	for _, u := range c.URLs {
		if err := egress.CheckURL(u); err != nil {
			faults = append(faults, fmt.Errorf("urls: %w", err))
		} else {
			fault(strings.Count(strings.TrimRight(u, "/"), "/") > 2, "urls: give addresses without a path, as https://search1:9200")
		}
	}
	fault(c.Name != "" && !validName.MatchString(c.Name), "index: a name begins with a letter of a to z, and has a-z, 0-9, - and _, 100 at most")
	fault((c.User == "") != (c.Password == ""), "user: give both user and password, or neither")
	fault(c.User != "" && c.APIKey != "", "api_key: give user and password, or api_key, but not both")
	fault(c.Password != "" && isWeak(c.User, c.Password), "password: this is one of an example, which anybody would try; set another one in the cluster and here")
	fault(c.Shards < 0 || c.Shards > 1000, "shards: give 1 to 1000")
	fault(c.Replicas < 0 || c.Replicas > 99, "replicas: give 0 to 99")
	return errors.Join(faults...)
}

// isWeak reports whether a password is one of an example, or the user's name.
func isWeak(user, password string) bool {
	for _, weak := range append([]string{user}, weakPasswords...) {
		if strings.EqualFold(password, weak) {
			return true
		}
	}
	return false
}

// Cluster is a searchindex.Shared.
type Cluster struct {
	config Config
	client *client
}

// New makes a Cluster of a configuration with URLs. It sends nothing.
func New(config Config) (*Cluster, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	config.Name, config.Shards = cmp.Or(config.Name, defaultName), max(config.Shards, 1)
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	config.Calls = outgoing.OrNew(config.Calls)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	by, err := newClient(&config)
	if err != nil {
		return nil, err
	}
	return &Cluster{config: config, client: by}, nil
}

// Close closes idle connections.
func (c *Cluster) Close() error {
	c.client.close()
	return nil
}

// Serving implements searchindex.Shared.
func (c *Cluster) Serving() searchindex.Index {
	return &Index{cluster: c, name: c.config.Name}
}

// Place implements searchindex.Shared.
func (c *Cluster) Place(ctx context.Context) (string, error) {
	var about struct {
		UUID string `json:"cluster_uuid"`
	}
	if err := c.client.read(ctx, "GET", "/", nil, &about); err != nil {
		return "", err
	}
	if about.UUID == "" || about.UUID == "_na_" { // a cluster that is being formed
		return "", unavailable(errors.New("the cluster has no id yet"))
	}
	return fmt.Sprintf("%s in the cluster %s", c.config.Name, about.UUID), nil
}

// text returns an encoding of bytes that JSON, paths and names may have.
func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
