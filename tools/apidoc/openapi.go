package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		k, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// with adds a member, unless it is empty text.
func (o object) with(key string, value any) object {
	if value == "" {
		return o
	}
	return append(o, member{key, value})
}

const about = `Accounts, conversations and messages of a Rialto server. Each call is a POST of JSON (or of protobuf, as application/proto) to ` +
	`its path. 64-bit integers are strings in what the server says; a field that is zero or empty is absent; a client ignores fields ` +
	`that it does not know. The protocol page, docs/protocol.md, says what calls do together, how the socket works, and lists the reasons of errors.`

func writeOpenAPI(p *protogen.Plugin) error {
	var tags []any
	var paths, schemas object
	for _, f := range p.Files {
		if !f.Generate {
			continue
		}
		for _, s := range f.Services {
			tags = append(tags, object{{"name", s.Desc.FullName()}}.with("description", text(s.Comments)))
			for _, m := range s.Methods {
				paths = append(paths, member{path(m), object{{"post", operation(m)}}})
			}
		}
		for _, m := range messages(f.Messages) {
			schemas = append(schemas, member{string(m.Desc.FullName()), messageSchema(m)})
		}
		for _, e := range enums(f) {
			schemas = append(schemas, member{string(e.Desc.FullName()), enumSchema(e)})
		}
	}
	tags = append(tags, object{{"name", "other"}, {"description", "Addresses that are no calls."}})
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{{"title", "Rialto"}, {"version", "v1"}, {"description", about},
			{"license", object{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
		{"servers", []any{object{{"url", "/"}}}},
		{"tags", tags},
		{"paths", append(paths, otherPaths()...)},
		{"components", object{
			{"schemas", append(schemas, failureSchemas()...)},
			{"responses", object{{"Error", object{{"description", "The call failed; code and reason say why."}, {"content", inJSON("Failure")}}}}},
			{"parameters", object{{"RialtoUser", object{{"name", "Rialto-User"}, {"in", "header"}, {"required", false},
				{"description", "With an API key: the id of the user on whose behalf the call is made."}, {"schema", object{{"type", "string"}, {"format", "uint64"}}}}}}},
			{"securitySchemes", object{
				{"accessToken", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "An access token of Rialto, or a token of an issuer that the server's configuration names."}}},
				{"apiKey", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "An API key (rk_…), for servers."}}},
			}},
		}},
	}
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	_, err = p.NewGeneratedFile("openapi.json", "").Write(append(out, '\n'))
	return err
}

func operation(m *protogen.Method) object {
	service := string(m.Parent.Desc.Name())
	o := object{{"tags", []any{m.Parent.Desc.FullName()}}, {"operationId", strings.TrimSuffix(service, "Service") + "_" + string(m.Desc.Name())}}
	o = o.with("description", text(m.Comments))
	switch caller(m) {
	case anyone:
		o = append(o, member{"security", []any{}})
	case servers:
		o = append(o, member{"security", []any{object{{"apiKey", []any{}}}}})
	case users:
		o = append(o, member{"security", []any{object{{"accessToken", []any{}}}, object{{"apiKey", []any{}}}}},
			member{"parameters", []any{ref("parameters/RialtoUser")}})
	}
	return append(o,
		member{"requestBody", object{{"required", true}, {"content", inJSON(string(m.Input.Desc.FullName()))}}},
		member{"responses", object{
			{"200", object{{"description", "Done."}, {"content", inJSON(string(m.Output.Desc.FullName()))}}},
			{"default", ref("responses/Error")}}})
}

func ref(to string) object { return object{{"$ref", "#/components/" + to}} }

func inJSON(schema string) object {
	return object{{"application/json", object{{"schema", ref("schemas/" + schema)}}}}
}

func messageSchema(m *protogen.Message) object {
	properties := object{}
	for _, f := range m.Fields {
		properties = append(properties, member{f.Desc.JSONName(), fieldSchema(f)})
	}
	about := text(m.Comments)
	for _, one := range m.Oneofs {
		if one.Desc.IsSynthetic() {
			continue
		}
		var names []string
		for _, f := range one.Fields {
			names = append(names, f.Desc.JSONName())
		}
		about = strings.TrimSpace(about + " At most one of these is there: " + strings.Join(names, ", ") + ".")
	}
	return object{{"type", "object"}}.with("description", about).with("properties", properties)
}

func fieldSchema(f *protogen.Field) object {
	s := typeSchema(f)
	if f.Desc.IsList() {
		return object{{"type", "array"}}.with("description", text(f.Comments)).with("items", s)
	}
	return s.with("description", text(f.Comments))
}

func typeSchema(f *protogen.Field) object {
	switch f.Desc.Kind() {
	case protoreflect.BoolKind:
		return object{{"type", "boolean"}}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return object{{"type", "integer"}, {"format", "uint32"}, {"minimum", 0}}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return object{{"type", "integer"}, {"format", "int32"}}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{{"type", "string"}, {"format", "uint64"}}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return object{{"type", "string"}, {"format", "int64"}}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{{"type", "number"}}
	case protoreflect.BytesKind:
		return object{{"type", "string"}, {"contentEncoding", "base64"}}
	case protoreflect.EnumKind:
		return ref("schemas/" + string(f.Enum.Desc.FullName()))
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if wellKnown(f.Message.Desc.FullName()) {
			return object{{"type", "object"}}
		}
		return ref("schemas/" + string(f.Message.Desc.FullName()))
	default:
		return object{{"type", "string"}}
	}
}

func enumSchema(e *protogen.Enum) object {
	var names, about []string
	about = append(about, text(e.Comments))
	for _, v := range e.Values {
		names = append(names, string(v.Desc.Name()))
		if c := text(v.Comments); c != "" {
			about = append(about, string(v.Desc.Name())+": "+c)
		}
	}
	return object{{"type", "string"}, {"enum", names}}.with("description", strings.TrimSpace(strings.Join(about, " ")))
}

// failureSchemas are the bodies of failed calls: Connect's, and our own where no call is.
func failureSchemas() object {
	field := func(about string) object { return object{{"type", "string"}, {"description", about}} }
	code := field("Code, as not_found or already_exists.")
	return object{
		{"Failure", object{{"type", "object"}, {"properties", object{
			{"code", code},
			{"message", field("Message in English, for people; it may change.")},
			{"details", object{{"type", "array"}, {"items", object{{"type", "object"}, {"properties", object{
				{"type", field("Name of the detail's message: rialto.gateway.v1.Error.")},
				{"value", object{{"type", "string"}, {"contentEncoding", "base64"}}},
				{"debug", ref("schemas/rialto.gateway.v1.Error")}}}}}}}}}}},
		{"Refusal", object{{"type", "object"}, {"properties", object{
			{"code", code}, {"reason", field("Reason is a stable word for programs.")}, {"message", field("Message in English, for people; it may change.")}}}}},
	}
}

// otherPaths are the addresses that are no calls.
func otherPaths() object {
	tagged := func(about string) object {
		return object{{"tags", []any{"other"}}, {"description", about}, {"security", []any{}}}
	}
	refused := member{"default", object{{"description", "Refused."}, {"content", inJSON("Refusal")}}}
	query := func(name, about string) object {
		return object{{"name", name}, {"in", "query"}, {"required", false}, {"description", about}, {"schema", object{{"type", "string"}}}}
	}
	file := []any{object{{"name", "upload"}, {"in", "path"}, {"required", true}, {"schema", object{{"type", "string"}, {"format", "uint64"}}}},
		query("exp", "Part of the URL as the server gave it."), query("sig", "Part of the URL as the server gave it.")}
	raw := object{{"application/octet-stream", object{}}}
	return object{
		{"/v1/socket", object{{"get", append(tagged("Opens the socket (WebSocket). Its frames are rialto.gateway.v1.ClientFrame and rialto.gateway.v1.ServerFrame; docs/protocol.md explains them."),
			member{"operationId", "Socket"},
			member{"parameters", []any{query("ticket", "A ticket of CreateTicket, where the client cannot set the header Authorization.")}},
			member{"responses", object{{"101", object{{"description", "The socket is open."}}}, refused}})}}},
		{"/v1/events", object{{"get", append(tagged("Opens the event stream (Server-Sent Events) for clients without a WebSocket. Each message is a rialto.gateway.v1.ServerFrame in JSON; docs/protocol.md explains them."),
			member{"operationId", "Events"},
			member{"parameters", []any{query("ticket", "A ticket of CreateTicket, where the client cannot set the header Authorization."),
				query("after", "The position after which the stream begins, as the id of an event, where there is no header Last-Event-ID.")}},
			member{"responses", object{{"200", object{{"description", "The stream, until its session or the client ends it."}, {"content", object{{"text/event-stream", object{}}}}}}, refused}})}}},
		{"/v1/media/{upload}", object{
			{"put", append(tagged("Takes an upload's bytes, at the URL that CreateUpload gave."), member{"operationId", "PutMedia"}, member{"parameters", file},
				member{"requestBody", object{{"required", true}, {"content", raw}}},
				member{"responses", object{{"204", object{{"description", "Stored."}}}, refused}})},
			{"get", append(tagged("Gives a file, at the URL that GetDownload gave or a profile names; also in ranges."), member{"operationId", "GetMedia"}, member{"parameters", file},
				member{"responses", object{
					{"200", object{{"description", "The file."}, {"content", raw}}},
					{"206", object{{"description", "A range of it."}, {"content", raw}}}, refused}})}}},
	}
}
