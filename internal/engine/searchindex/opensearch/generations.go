package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// indexName is the name of a generation, and writeAlias the name by which it is written.
func (c *Cluster) indexName(n uint64) string  { return c.config.Name + "-" + strconv.FormatUint(n, 10) }
func (c *Cluster) writeAlias(n uint64) string { return c.indexName(n) + "-write" }

// generation returns the number in the name of an index.
func (c *Cluster) generation(name string) (n uint64, ok bool) {
	number, ok := strings.CutPrefix(name, c.config.Name+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(number, 10, 63)
	return n, err == nil && n > 0 && c.indexName(n) == name // another program may have written it otherwise
}

// described is what the cluster says of an index.
type described struct {
	Aliases  map[string]json.RawMessage `json:"aliases"`
	Mappings struct {
		Meta struct {
			Rialto owner `json:"rialto"`
		} `json:"_meta"`
	} `json:"mappings"`
}

// Generations implements searchindex.Shared.
func (c *Cluster) Generations(ctx context.Context) (list []uint64, serving uint64, err error) {
	var found map[string]described
	path := fmt.Sprintf("/%s,%s-*?ignore_unavailable=true&allow_no_indices=true&filter_path=*.aliases,*.mappings._meta", c.config.Name, c.config.Name)
	if err := c.client.read(ctx, "GET", path, nil, &found); err != nil {
		return nil, 0, err
	}
	for name, d := range found {
		_, answers := d.Aliases[c.config.Name]
		n, ok := c.generation(name)
		if !ok && !answers && name != c.config.Name {
			continue // of another program, whose names begin alike
		}
		if of := d.Mappings.Meta.Rialto; !ok || of.Deployment != c.config.Deployment {
			return nil, 0, fmt.Errorf("%w: %s belongs to another deployment, or to another program; give another name in opensearch.index", searchindex.ErrForeign, name)
		} else if of.Format != format {
			return nil, 0, fmt.Errorf("%w: %s is of format %d, and this build has %d; set another opensearch.index, and run rialto search rebuild on a node", searchindex.ErrForeign, name, of.Format, format)
		}
		if list = append(list, n); answers {
			serving = max(serving, n)
		}
	}
	slices.Sort(list)
	return list, serving, nil
}

// fencePoint is a checkpoint that each writer writes first. Its version is the term of the latest one.
const fencePoint = "\x00writer"

// Open implements searchindex.Shared.
func (c *Cluster) Open(ctx context.Context, n, term uint64, serving bool) (searchindex.Index, error) {
	body, err := json.Marshal(c.definition(n, serving))
	if err != nil {
		return nil, err
	}
	var made struct {
		Acknowledged bool `json:"acknowledged"`
	}
	err = c.client.write(ctx, "PUT", "/"+c.indexName(n), body, &made)
	switch {
	case isKind(err, "resource_already_exists_exception"): // also after a first attempt whose answer was lost
	case err != nil:
		return nil, err
	default:
		c.config.Logger.Info("a generation of the search index was made in OpenSearch", "index", c.indexName(n), "shards", c.config.Shards, "replicas", c.config.Replicas)
	}
	list, _, err := c.Generations(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(list, n) {
		return nil, fmt.Errorf("%w: %s was removed at this moment", searchindex.ErrMissing, c.indexName(n))
	}
	i := &Index{cluster: c, name: c.indexName(n), writes: c.writeAlias(n)}
	if term > 0 {
		if err := i.Apply(ctx, &searchindex.Batch{Term: term, Checkpoints: map[string]uint64{fencePoint: term}}); err != nil {
			return nil, i.supersededBy(ctx, err)
		}
	}
	return i, nil
}

// supersededBy adds the term of a later writer to an error that says that there is one.
func (i *Index) supersededBy(ctx context.Context, err error) error {
	if _, ok := err.(*searchindex.Superseded); !ok {
		return err
	}
	at, rerr := i.Checkpoints(ctx, []string{fencePoint})
	if rerr != nil {
		return err
	}
	return &searchindex.Superseded{Term: at[0]}
}

// Serve implements searchindex.Shared.
func (c *Cluster) Serve(ctx context.Context, n uint64) error {
	list, _, err := c.Generations(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(list, n) {
		return fmt.Errorf("%w: %s", searchindex.ErrMissing, c.indexName(n))
	}
	actions := []object{{"add": object{"index": c.indexName(n), "alias": c.config.Name}}}
	for _, other := range list {
		if other != n {
			actions = append(actions, object{"remove_index": object{"index": c.indexName(other)}})
		}
	}
	body, err := json.Marshal(object{"actions": actions})
	if err != nil {
		return err
	}
	return c.client.write(ctx, "POST", "/_aliases", body, &struct{}{})
}

// Remove implements searchindex.Shared.
func (c *Cluster) Remove(ctx context.Context, n uint64) error {
	err := c.client.write(ctx, "DELETE", "/"+c.indexName(n), nil, &struct{}{})
	if f, ok := err.(*failure); ok && f.status == http.StatusNotFound {
		return nil
	}
	if isKind(err, "index_not_found_exception") {
		return nil
	}
	return err
}
