package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// Mappings of names that networks have (CASEMAPPING). A network that names none has rfc1459.
const (
	mappingASCII   = "ascii"
	mappingStrict  = "rfc1459-strict"
	mappingRFC1459 = "rfc1459"
)

// caseMapping knows by which rule the network compares nicks, accounts and channels. It is in a file, for names that are compared before there is a connection.
type caseMapping struct {
	path string

	mu   sync.Mutex // guards name
	name string
}

func openCaseMapping(dir string) (*caseMapping, error) {
	m := &caseMapping{path: filepath.Join(dir, "casemapping.json"), name: mappingRFC1459}
	raw, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		if err = json.Unmarshal(raw, &m.name); err != nil {
			err = fmt.Errorf("%s is not a file of the bridge; delete it: %w", m.path, err)
		}
	}
	return m, err
}

// set notes and writes down the rule of the network; empty: the network names none.
func (m *caseMapping) set(name string) error {
	if name = strings.ToLower(name); name == "" {
		name = mappingRFC1459
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.name == name {
		return nil
	}
	m.name = name
	raw, err := json.Marshal(name)
	if err != nil {
		return err
	}
	return bridge.WriteFile(m.path, raw)
}

// fold returns a name in the form that all its spellings share.
func (m *caseMapping) fold(name string) string {
	m.mu.Lock()
	mapping := m.name
	m.mu.Unlock()
	return fold(mapping, name)
}

// fold returns a name in the form that all its spellings share by a mapping. In rfc1459, {|}^ are the lower case of []\~. Others than the three are of networks with Unicode in names.
func fold(mapping, name string) string {
	last := byte('Z')
	switch mapping {
	case mappingASCII:
	case mappingStrict:
		last = ']'
	case mappingRFC1459:
		last = '^'
	default:
		return strings.ToLower(name)
	}
	folded := []byte(name) // not by characters: a name that is not UTF-8 stays apart from others
	for i, b := range folded {
		if b >= 'A' && b <= last {
			folded[i] += 'a' - 'A'
		}
	}
	return string(folded)
}
