// Command swiftcontract is a plugin of buf: it makes the types of api/ in Swift, which are read from JSON and written to it as protobuf does it.
// The coders that it names are in sdk/swift/Sources/RialtoContract.
package main

import (
	"flag"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	var flags flag.FlagSet
	g := generator{own: map[protoreflect.FullName]string{"google.protobuf.Struct": "JSONObject"}}
	// A message of later versions has fields that are not known here. Where they must be kept, the type is written by hand.
	flags.Func("own", "MESSAGE:TYPE, a message that has a type of its own in Swift", g.addOwn)
	protogen.Options{ParamFunc: flags.Set}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		g.run(p)
		return nil
	})
}

type generator struct {
	// own has the Swift types of messages that are not generated.
	own map[protoreflect.FullName]string
	out *protogen.GeneratedFile
}

func (g *generator) addOwn(option string) error {
	message, swift, ok := strings.Cut(option, ":")
	if !ok {
		return errOwn
	}
	g.own[protoreflect.FullName(message)] = swift
	return nil
}

func (g *generator) run(p *protogen.Plugin) {
	namespaces := map[string]bool{}
	for _, f := range p.Files {
		if !f.Generate {
			continue
		}
		namespace := namespaceOf(f.Desc)
		g.out = p.NewGeneratedFile(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(f.Desc.Path(), ".proto"), "rialto/"), "/", "_")+".swift", "")
		g.out.P("// Made from ", f.Desc.Path(), " by make generate. Do not edit.")
		g.out.P("import Foundation")
		if !namespaces[namespace] {
			namespaces[namespace] = true
			g.out.P()
			g.out.P("/// Messages and calls of ", string(f.Desc.Package()), ".")
			g.out.P("public enum ", namespace, " {}")
		}
		g.out.P()
		g.out.P("extension ", namespace, " {")
		for _, s := range f.Services {
			g.service(s)
		}
		g.types("    ", f.Messages, f.Enums)
		g.out.P("}")
	}
}

func (g *generator) types(indent string, messages []*protogen.Message, enums []*protogen.Enum) {
	for _, m := range messages {
		if m.Desc.IsMapEntry() || g.own[m.Desc.FullName()] != "" {
			continue
		}
		g.message(indent, m)
	}
	for _, e := range enums {
		g.enum(indent, e)
	}
}

func (g *generator) service(s *protogen.Service) {
	g.comment("    ", s.Comments.Leading)
	g.out.P("    public enum ", typeName(s.GoName), " {")
	for _, m := range s.Methods {
		g.comment("        ", m.Comments.Leading)
		g.out.P("        public static let ", caseName(m.GoName), " = RialtoContract.Call<", g.messageType(m.Input.Desc), ", ", g.messageType(m.Output.Desc), `>("`, s.Desc.FullName(), "/", m.Desc.Name(), `")`)
	}
	g.out.P("    }")
	g.out.P()
}

func (g *generator) comment(indent string, c protogen.Comments) {
	for line := range strings.Lines(string(c)) {
		g.out.P(strings.TrimRight(indent+"///"+strings.TrimRight(line, "\n"), " "))
	}
}
