package main

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const intro = `<!-- Made from api/ by make generate. Do not edit: change the comments there. -->
# Calls and messages

All calls of the API and all messages, by their names in JSON. How they are used is in [protocol.md](protocol.md), which also
lists the reasons of errors. The same as an OpenAPI document: [openapi.json](../gen/openapi/openapi.json), which a running server
has at ` + "`/v1/openapi.json`" + `.

A 64-bit integer is a string in JSON. A field that is zero or empty is absent. ` + "`user`, `conversation`, `device`, `session`, `upload`" + ` and
` + "`avatar`" + ` (an upload) are ids; what ends in ` + "`Ms`" + ` is in milliseconds, and a time is since 1970.
`

func writeReference(p *protogen.Plugin) error {
	var b bytes.Buffer
	b.WriteString(intro)
	for _, f := range p.Files {
		if !f.Generate {
			continue
		}
		for _, s := range f.Services {
			writeService(&b, s)
		}
	}
	for _, f := range p.Files {
		if !f.Generate {
			continue
		}
		fmt.Fprintf(&b, "\n## Messages of %s\n", f.Desc.Path())
		for _, m := range messages(f.Messages) {
			writeMessage(&b, m)
		}
		for _, e := range enums(f) {
			writeEnum(&b, e)
		}
	}
	_, err := p.NewGeneratedFile("api.md", "").Write(b.Bytes())
	return err
}

func writeService(b *bytes.Buffer, s *protogen.Service) {
	fmt.Fprintf(b, "\n## %s\n\n", s.Desc.Name())
	if c := text(s.Comments); c != "" {
		b.WriteString(c + "\n\n")
	}
	fmt.Fprintf(b, "`POST /%s/CALL`\n\n| call | request | answer | |\n|---|---|---|---|\n", s.Desc.FullName())
	for _, m := range s.Methods {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", m.Desc.Name(), link(m.Input.Desc), link(m.Output.Desc), cell(text(m.Comments)))
	}
}

// anchors are made of full names, since two packages may have a message of one name.
func anchor(d protoreflect.Descriptor) string {
	return strings.ToLower(strings.ReplaceAll(string(d.FullName()), ".", "-"))
}

// short is the name without its package.
func short(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
}

func link(d protoreflect.Descriptor) string {
	if wellKnown(d.FullName()) {
		return "object"
	}
	return fmt.Sprintf("[%s](#%s)", short(d), anchor(d))
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func heading(b *bytes.Buffer, d protoreflect.Descriptor, about string) {
	fmt.Fprintf(b, "\n### <a id=\"%s\"></a>%s\n\n", anchor(d), short(d))
	if about != "" {
		b.WriteString(about + "\n\n")
	}
}

func writeMessage(b *bytes.Buffer, m *protogen.Message) {
	heading(b, m.Desc, text(m.Comments))
	if len(m.Fields) == 0 {
		b.WriteString("No fields.\n")
		return
	}
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range m.Fields {
		about := text(f.Comments)
		if one := choice(f); one != nil {
			about = strings.TrimSpace("*One of " + string(one.Desc.Name()) + ".* " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Desc.JSONName(), kind(f), cell(about))
	}
}

func kind(f *protogen.Field) string {
	name := f.Desc.Kind().String()
	switch {
	case f.Enum != nil:
		name = link(f.Enum.Desc)
	case f.Message != nil:
		name = link(f.Message.Desc)
	}
	if f.Desc.IsList() {
		return "list of " + name
	}
	return name
}

func writeEnum(b *bytes.Buffer, e *protogen.Enum) {
	heading(b, e.Desc, text(e.Comments))
	b.WriteString("| value | |\n|---|---|\n")
	for _, v := range e.Values {
		fmt.Fprintf(b, "| `%s` | %s |\n", v.Desc.Name(), cell(text(v.Comments)))
	}
}
