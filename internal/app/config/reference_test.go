package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite reference.txt")

const module = "github.com/rialto-im/rialto/"

// comments of the fields of a package's structs, by "Type.Field".
func comments(t *testing.T, pkg string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", strings.TrimPrefix(pkg, module), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", pkg, err)
	}
	found := map[string]string{}
	for _, f := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						found[spec.Name.Name+"."+name.Name] = strings.TrimSpace(field.Doc.Text())
					}
				}
			}
			return false
		})
	}
	return found
}

// describe writes the settings of a struct from its comments.
func describe(t *testing.T, b *strings.Builder, v reflect.Type, prefix string) {
	t.Helper()
	said := comments(t, v.PkgPath())
	for i := range v.NumField() {
		f := v.Field(i)
		name, doc := prefix+f.Tag.Get("yaml"), said[v.Name()+"."+f.Name]
		if name == prefix+"-" {
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			describe(t, b, f.Type, name+".")
			continue
		}
		kind := map[string]string{"string": "text", "bool": "true or false", "int": "number", "uint64": "number", "float64": "number", "time.Duration": "duration", "[]string": "list"}[f.Type.String()]
		of := f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct
		if of {
			kind = "list, in the file only; each part has:"
		}
		if kind == "" {
			t.Fatalf("%s is a %v, which the reference has no word for", name, f.Type)
		}
		doc = inNames(doc, v)
		if doc == "" && !(strings.HasSuffix(prefix, "[].") && said[v.Name()+"."+v.Field(i-1).Name] != "") {
			t.Errorf("%s has no comment", name)
		}
		fmt.Fprintf(b, "%s (%s)\n", name, kind)
		if doc != "" {
			b.WriteString("    " + strings.ReplaceAll(doc, "\n", "\n    ") + "\n")
		}
		if of {
			describe(t, b, f.Type.Elem(), name+"[].")
		}
	}
}

// inNames returns a comment with the names that operators know: heartbeat_interval for HeartbeatInterval.
func inNames(doc string, v reflect.Type) string {
	for i := range v.NumField() {
		if name := v.Field(i).Tag.Get("yaml"); strings.Contains(name, "_") {
			doc = regexp.MustCompile(`\b`+v.Field(i).Name+`\b`).ReplaceAllString(doc, name)
		}
	}
	return doc
}

// TestReference: what rialto check --reference prints is what the comments say.
func TestReference(t *testing.T) {
	var b strings.Builder
	describe(t, &b, reflect.TypeFor[Config](), "")
	if *update {
		if err := os.WriteFile("reference.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b.String() != reference {
		t.Error("reference.txt does not match the comments; run make generate")
	}
}

// TestThePageNamesEachSetting of the operators' manual.
func TestThePageNamesEachSetting(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fieldsOf(&Config{}).names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/operating/configuration.md has no %s", name)
		}
	}
}
