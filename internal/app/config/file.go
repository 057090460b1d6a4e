package config

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader walks a file and collects its faults. It reads the tree itself, because a decoder ends at the first fault, accepts a bare number
// as a duration, and shows the lines around a fault, which may have secrets.
type reader struct{ faults []error }

func (r *reader) fault(at ast.Node, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("line %d: %w", at.GetToken().Position.Line, fmt.Errorf(format, args...)))
}

func readFile(text []byte, fields settable) []error {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		if e := yaml.Error(nil); errors.As(err, &e) { // its text would show the lines around the fault
			err = fmt.Errorf("line %d: this is no YAML: %s", e.GetToken().Position.Line, e.GetMessage())
		}
		return []error{err}
	}
	r := &reader{}
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if i > 0 {
			r.fault(doc.Body, "this is a second document; put all settings into one")
			break
		}
		r.settings(doc.Body, "", fields)
	}
	return r.faults
}

// pairs of a mapping; false after a fault. Nothing, and a comment, are an empty mapping.
func (r *reader) pairs(n ast.Node, name string) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.NullNode, *ast.CommentGroupNode:
		return nil, true
	}
	if name == "" {
		name = "the file"
	}
	r.fault(n, "%s must hold settings, as \"name: value\"", name)
	return nil, false
}

func (r *reader) settings(n ast.Node, prefix string, fields settable) {
	pairs, _ := r.pairs(n, prefix)
	for _, p := range pairs {
		name := p.Key.GetToken().Value
		if prefix != "" {
			name = prefix + "." + name
		}
		field, ok := fields.fields[name]
		switch {
		case !ok && fields.above(name):
			r.settings(p.Value, name, fields)
		case !ok:
			r.fault(p, "%q %s", name, fields.unknown(name, dotted))
		default:
			r.value(p.Value, name, field)
		}
	}
}

// above reports whether a name is a section that settings are in.
func (s settable) above(name string) bool {
	for n := range s.fields {
		if len(n) > len(name) && n[:len(name)] == name && n[len(name)] == '.' {
			return true
		}
	}
	return false
}

func (r *reader) value(n ast.Node, name string, field reflect.Value) {
	if _, ok := n.(*ast.NullNode); ok {
		return // "name:" alone leaves the default
	}
	if field.Kind() == reflect.Slice {
		r.list(n, name, field)
		return
	}
	text, ok := scalar(n)
	if !ok {
		r.fault(n, "%s: give one value", name)
	} else if err := parse(field, text); err != nil {
		r.fault(n, "%s: %w", name, err)
	}
}

func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (r *reader) list(n ast.Node, name string, field reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(n, "%s: give a list, each part on a line of its own after a dash", name)
		return
	}
	before := len(r.faults)
	list := reflect.MakeSlice(field.Type(), len(seq.Values), len(seq.Values))
	for i, v := range seq.Values {
		if list.Index(i).Kind() == reflect.Struct {
			r.part(v, fmt.Sprintf("%s[%d]", name, i), list.Index(i))
		} else {
			r.value(v, name, list.Index(i))
		}
	}
	if len(r.faults) == before { // half a list would have faults of its own
		field.Set(list)
	}
}

// part of a list that has fields of its own.
func (r *reader) part(n ast.Node, name string, v reflect.Value) {
	fields := settable{fields: map[string]reflect.Value{}}
	fields.collect(v, name+".")
	r.settings(n, name, fields)
}
