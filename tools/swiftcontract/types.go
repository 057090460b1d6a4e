package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

var errOwn = errors.New("own is MESSAGE:TYPE")

// holds says whether a value of one message may hold one of another in itself: in its own memory, and not through a list, a map, or a type of the SDK's own.
func (g *generator) holds(outer, inner protoreflect.MessageDescriptor) bool {
	var seen []protoreflect.FullName
	var reaches func(at protoreflect.MessageDescriptor) bool
	reaches = func(at protoreflect.MessageDescriptor) bool {
		if at == inner {
			return true
		}
		if slices.Contains(seen, at.FullName()) {
			return false
		}
		seen = append(seen, at.FullName())
		for i := range at.Fields().Len() {
			f := at.Fields().Get(i)
			if f.Message() != nil && !f.IsList() && !f.IsMap() && g.own[f.Message().FullName()] == "" && reaches(f.Message()) {
				return true
			}
		}
		return false
	}
	return reaches(outer)
}

// holdsItsOwner says whether a field would make its struct hold itself, which Swift does not allow.
func (g *generator) holdsItsOwner(f *protogen.Field) bool {
	d := f.Desc
	return d.Message() != nil && !d.IsList() && !d.IsMap() && g.own[d.Message().FullName()] == "" && g.holds(d.Message(), d.ContainingMessage())
}

// A member of a struct: a field, or a oneof.
type member struct {
	wrapper           string
	name, swift, zero string
	comment           protogen.Comments
	read, write       string
}

func (g *generator) message(indent string, m *protogen.Message) {
	var members []member
	for _, f := range m.Fields {
		if f.Oneof == nil || f.Oneof.Desc.IsSynthetic() {
			members = append(members, g.field(f))
		} else if f.Oneof.Fields[0] == f {
			members = append(members, oneofMember(f.Oneof))
		}
	}
	g.comment(indent, m.Comments.Leading)
	g.out.P(indent, "public struct ", typeName(string(m.Desc.Name())), ": ProtoMessage {")
	in := indent + "    "
	for _, v := range members {
		g.comment(in, v.comment)
		g.out.P(in, v.wrapper, "public var ", v.name, ": ", v.swift)
	}
	if len(members) > 0 {
		g.out.P()
	}
	g.initializers(in, members)
	for _, o := range m.Oneofs {
		if !o.Desc.IsSynthetic() {
			g.oneof(in, o)
		}
	}
	g.types(in, m.Messages, m.Enums)
	g.out.P(indent, "}")
	g.out.P()
}

func (g *generator) initializers(in string, members []member) {
	parameters := make([]string, len(members))
	for i, v := range members {
		parameters[i] = v.name + ": " + v.swift + " = " + v.zero
	}
	g.out.P(in, "public init(", strings.Join(parameters, ", "), ") {")
	for _, v := range members {
		g.out.P(in, "    self.", v.name, " = ", v.name)
	}
	g.out.P(in, "}")
	g.out.P()
	if len(members) == 0 {
		g.out.P(in, "public init(from decoder: any Decoder) throws {}")
		g.out.P()
		g.out.P(in, "public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }")
		g.out.P()
		return
	}
	g.out.P(in, "public init(from decoder: any Decoder) throws {")
	g.out.P(in, "    let fields = try ProtoReader(decoder)")
	for _, v := range members {
		g.out.P(in, "    ", v.name, " = ", v.read)
	}
	g.out.P(in, "}")
	g.out.P()
	g.out.P(in, "public func encode(to encoder: any Encoder) throws {")
	g.out.P(in, "    var fields = ProtoWriter(encoder)")
	for _, v := range members {
		g.out.P(in, "    ", v.write)
	}
	g.out.P(in, "}")
	g.out.P()
}

func (g *generator) field(f *protogen.Field) member {
	swift, coder := g.value(f.Desc)
	v := member{name: caseName(f.GoName), comment: f.Comments.Leading}
	how := "value"
	switch {
	case f.Desc.IsMap():
		key, keys := g.value(f.Desc.MapKey())
		value, values := g.value(f.Desc.MapValue())
		v.swift, v.zero, how, coder = "["+key+": "+value+"]", "[:]", "map", keys+", "+values
	case f.Desc.IsList():
		v.swift, v.zero, how = "["+swift+"]", "[]", "list"
	case f.Desc.HasPresence():
		v.swift, v.zero, how = swift+"?", "nil", "optional"
	default:
		v.swift, v.zero = swift, zero(f.Desc)
	}
	if g.holdsItsOwner(f) {
		v.wrapper = "@Boxed "
	}
	v.read = fmt.Sprintf("try fields.%s(%q, %s)", how, f.Desc.JSONName(), coder)
	v.write = fmt.Sprintf("try fields.%s(%q, %s, %s)", how, f.Desc.JSONName(), v.name, coder)
	return v
}

// value is the type of a field's value in Swift, and what reads and writes it.
func (g *generator) value(f protoreflect.FieldDescriptor) (swift, coder string) {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "Bool", "BoolCoder.self"
	case protoreflect.StringKind:
		return "String", "TextCoder.self"
	case protoreflect.BytesKind:
		return "Foundation.Data", "BytesCoder.self"
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return "Double", "DoubleCoder.self"
	case protoreflect.EnumKind:
		name := qualified(f.Enum())
		return name, "EnumCoder<" + name + ">.self"
	case protoreflect.MessageKind, protoreflect.GroupKind:
		name := g.messageType(f.Message())
		return name, "MessageCoder<" + name + ">.self"
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		if o, ok := f.Options().(*descriptorpb.FieldOptions); ok && o.GetJstype() == descriptorpb.FieldOptions_JS_STRING {
			return "String", "IDCoder.self"
		}
		return "Int64", "Int64Coder.self"
	default:
		return "Int", "IntCoder.self"
	}
}

func zero(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "false"
	case protoreflect.StringKind:
		return `""`
	case protoreflect.BytesKind:
		return "Foundation.Data()"
	case protoreflect.EnumKind:
		return "." + enumCase(f.Enum().Values().Get(0))
	}
	if o, ok := f.Options().(*descriptorpb.FieldOptions); ok && o.GetJstype() == descriptorpb.FieldOptions_JS_STRING {
		return `"0"`
	}
	return "0"
}

func oneofMember(o *protogen.Oneof) member {
	name := caseName(o.GoName)
	swift := typeName(o.GoName)
	return member{name: name, swift: swift + "?", zero: "nil", comment: o.Comments.Leading, read: "try " + swift + "(fields)", write: "try " + name + "?.write(to: &fields)"}
}

func (g *generator) oneof(in string, o *protogen.Oneof) {
	name := typeName(o.GoName)
	indirect := ""
	if slices.ContainsFunc(o.Fields, g.holdsItsOwner) {
		indirect = "indirect "
	}
	g.out.P(in, "public ", indirect, "enum ", name, ": Hashable, Sendable {")
	for _, f := range o.Fields {
		g.comment(in+"    ", f.Comments.Leading)
		swift, _ := g.value(f.Desc)
		g.out.P(in, "    case ", caseName(f.GoName), "(", swift, ")")
	}
	g.out.P()
	g.out.P(in, "    init?(_ fields: ProtoReader) throws {")
	for i, f := range o.Fields {
		_, coder := g.value(f.Desc)
		otherwise := "        } else if"
		if i == 0 {
			otherwise = "        if"
		}
		g.out.P(in, otherwise, fmt.Sprintf(" let value = try fields.optional(%q, %s) {", f.Desc.JSONName(), coder))
		g.out.P(in, "            self = .", caseName(f.GoName), "(value)")
	}
	g.out.P(in, "        } else {")
	g.out.P(in, "            return nil")
	g.out.P(in, "        }")
	g.out.P(in, "    }")
	g.out.P()
	g.out.P(in, "    func write(to fields: inout ProtoWriter) throws {")
	g.out.P(in, "        switch self {")
	for _, f := range o.Fields {
		_, coder := g.value(f.Desc)
		g.out.P(in, "        case .", caseName(f.GoName), "(let value): ", fmt.Sprintf("try fields.optional(%q, value, %s)", f.Desc.JSONName(), coder))
	}
	g.out.P(in, "        }")
	g.out.P(in, "    }")
	g.out.P(in, "}")
	g.out.P()
}

func (g *generator) enum(indent string, e *protogen.Enum) {
	name := typeName(string(e.Desc.Name()))
	g.comment(indent, e.Comments.Leading)
	g.out.P(indent, "public enum ", name, ": ProtoEnum {")
	in := indent + "    "
	for _, v := range e.Values {
		g.comment(in, v.Comments.Leading)
		g.out.P(in, "case ", enumCase(v.Desc))
	}
	g.out.P(in, "/// A value of a later version, by its number.")
	g.out.P(in, "case unrecognized(Int)")
	g.out.P()
	g.out.P(in, "public static let values: [ProtoEnumValue<", name, ">] = [")
	for _, v := range e.Values {
		g.out.P(in, fmt.Sprintf("    ProtoEnumValue(%q, %d, .%s),", v.Desc.Name(), v.Desc.Number(), enumCase(v.Desc)))
	}
	g.out.P(in, "]")
	g.out.P()
	g.out.P(in, "public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }")
	g.out.P(indent, "}")
	g.out.P()
}

func (g *generator) messageType(m protoreflect.MessageDescriptor) string {
	if own := g.own[m.FullName()]; own != "" {
		return own
	}
	return qualified(m)
}

// qualified is the name of a type with those of the types around it.
func qualified(d protoreflect.Descriptor) string {
	if file, ok := d.Parent().(protoreflect.FileDescriptor); ok {
		return namespaceOf(file) + "." + typeName(string(d.Name()))
	}
	return qualified(d.Parent()) + "." + typeName(string(d.Name()))
}

// namespaceOf rialto.chat.v1 is ChatV1.
func namespaceOf(f protoreflect.FileDescriptor) string {
	var name strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(string(f.Package()), "rialto."), ".") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return name.String()
}

func typeName(name string) string {
	if name == "Type" || name == "Protocol" || name == "Self" {
		return name + "_" // Swift has meanings of its own for them
	}
	return name
}

var keywords = strings.Fields("as associatedtype break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate for func guard if import in init inout internal is let nil operator precedencegroup private protocol public repeat rethrows return self static struct subscript super switch throw throws true try typealias var where while")

// caseName of FindGateways is findGateways, that of URLs is urls, and that of HTMLBody is htmlBody.
func caseName(goName string) string {
	letters := []rune(goName)
	n := 0
	for n < len(letters) && unicode.IsUpper(letters[n]) {
		n++
	}
	if n > 1 && n < len(letters) && unicode.IsLower(letters[n]) && string(letters[n:]) != "s" {
		n--
	}
	name := strings.ToLower(string(letters[:n])) + string(letters[n:])
	name = strings.ReplaceAll(name, "_", "")
	if unicode.IsDigit(rune(name[0])) {
		name = "_" + name
	}
	if slices.Contains(keywords, name) {
		return "`" + name + "`"
	}
	return name
}

// enumCase of ROLE_MEMBER of Role is member.
func enumCase(v protoreflect.EnumValueDescriptor) string {
	var prefix strings.Builder
	for i, r := range string(v.Parent().Name()) {
		if i > 0 && unicode.IsUpper(r) {
			prefix.WriteByte('_')
		}
		prefix.WriteRune(unicode.ToUpper(r))
	}
	var name strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(string(v.Name()), prefix.String()+"_"), "_") {
		name.WriteString(part[:1] + strings.ToLower(part[1:]))
	}
	return caseName(strings.ToLower(name.String()[:1]) + name.String()[1:])
}
