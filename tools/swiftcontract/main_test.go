package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// contract has a field of each kind.
const contract = `
name: "rialto/chat/v1/example.proto" package: "rialto.chat.v1" syntax: "proto3"
dependency: "google/protobuf/struct.proto"
options { go_package: "example.com/chatv1" }
message_type {
  name: "Content" field { name: "text" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "text" }
}
message_type {
  name: "Everything"
  field { name: "conversation" number: 1 type: TYPE_UINT64 label: LABEL_OPTIONAL json_name: "conversation" options { jstype: JS_STRING } }
  field { name: "client_seq" number: 2 type: TYPE_UINT64 label: LABEL_OPTIONAL json_name: "clientSeq" }
  field { name: "time_ms" number: 3 type: TYPE_INT64 label: LABEL_OPTIONAL json_name: "timeMs" options { jstype: JS_NUMBER } }
  field { name: "limit" number: 4 type: TYPE_UINT32 label: LABEL_OPTIONAL json_name: "limit" }
  field { name: "p256dh" number: 5 type: TYPE_BYTES label: LABEL_OPTIONAL json_name: "p256dh" }
  field { name: "default" number: 6 type: TYPE_BOOL label: LABEL_OPTIONAL json_name: "default" }
  field { name: "weight" number: 7 type: TYPE_FLOAT label: LABEL_OPTIONAL json_name: "weight" }
  field { name: "role" number: 8 type: TYPE_ENUM label: LABEL_OPTIONAL type_name: ".rialto.chat.v1.HelpRole" json_name: "role" }
  field { name: "draft" number: 9 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "draft" proto3_optional: true oneof_index: 1 }
  field { name: "seqs" number: 10 type: TYPE_UINT64 label: LABEL_REPEATED json_name: "seqs" }
  field { name: "counts" number: 11 type: TYPE_MESSAGE label: LABEL_REPEATED type_name: ".rialto.chat.v1.Everything.CountsEntry" json_name: "counts" }
  field { name: "content" number: 12 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".rialto.chat.v1.Content" json_name: "content" }
  field { name: "extra" number: 13 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".google.protobuf.Struct" json_name: "extra" }
  field { name: "parent" number: 14 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".rialto.chat.v1.Everything" json_name: "parent" }
  field { name: "children" number: 15 type: TYPE_MESSAGE label: LABEL_REPEATED type_name: ".rialto.chat.v1.Everything" json_name: "children" }
  field { name: "by_name" number: 16 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "byName" oneof_index: 0 }
  field { name: "inner" number: 17 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".rialto.chat.v1.Everything.Type" json_name: "inner" oneof_index: 0 }
  oneof_decl { name: "of" } oneof_decl { name: "_draft" }
  nested_type {
    name: "CountsEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_UINT64 label: LABEL_OPTIONAL json_name: "key" }
    field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "value" }
  }
  nested_type { name: "Type" }
}
enum_type {
  name: "HelpRole"
  value { name: "HELP_ROLE_UNSPECIFIED" number: 0 } value { name: "HELP_ROLE_DEFAULT" number: 1 } value { name: "HELP_ROLE_TEAM_LEAD" number: 7 }
}
service {
  name: "ExampleService"
  method { name: "GetEverything" input_type: ".rialto.chat.v1.Everything" output_type: ".rialto.chat.v1.Content" }
}
source_code_info {
  location { path: [4, 1] span: [0, 0, 0] leading_comments: " Everything there is.\n In two lines.\n" }
}
`

func generate(t *testing.T, file string) string {
	t.Helper()
	var f descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(file), &f); err != nil {
		t.Fatal(err)
	}
	p, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{f.GetName()},
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(structpb.File_google_protobuf_struct_proto), &f},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := generator{own: map[protoreflect.FullName]string{"google.protobuf.Struct": "JSONObject"}}
	if err := g.addOwn("rialto.chat.v1.Content:Content"); err != nil {
		t.Fatal(err)
	}
	g.run(p)
	answer := p.Response()
	if answer.Error != nil || len(answer.File) != 1 {
		t.Fatalf("error %q, %d files", answer.GetError(), len(answer.File))
	}
	if name := answer.File[0].GetName(); name != "chat_v1_example.swift" {
		t.Errorf("the file is %s", name)
	}
	return answer.File[0].GetContent()
}

func TestEachKindOfField(t *testing.T) {
	swift := generate(t, contract)
	for what, lines := range map[string][]string{
		"an id is a text, and 0 is none": {
			`public var conversation: String`, `conversation: String = "0"`, `conversation = try fields.value("conversation", IDCoder.self)`,
		},
		"other numbers of 64 bits are texts in JSON only": {
			`public var clientSeq: Int64`, `clientSeq = try fields.value("clientSeq", Int64Coder.self)`, `try fields.value("clientSeq", clientSeq, Int64Coder.self)`,
			`public var timeMs: Int64`, `timeMs = try fields.value("timeMs", Int64Coder.self)`,
		},
		"numbers of 32 bits":           {`public var limit: Int`, `limit = try fields.value("limit", IntCoder.self)`},
		"bytes, under their JSON name": {`public var p256Dh: Foundation.Data`, `p256Dh = try fields.value("p256dh", BytesCoder.self)`},
		"words of Swift":               {"public var `default`: Bool", "`default` = try fields.value(\"default\", BoolCoder.self)"},
		"numbers with a fraction":      {`public var weight: Double`, `weight = try fields.value("weight", DoubleCoder.self)`},
		"enums":                        {`public var role: ChatV1.HelpRole`, `role: ChatV1.HelpRole = .unspecified`, `role = try fields.value("role", EnumCoder<ChatV1.HelpRole>.self)`},
		"fields that tell zero from absent": {
			`public var draft: String?`, `draft: String? = nil`, `draft = try fields.optional("draft", TextCoder.self)`, `try fields.optional("draft", draft, TextCoder.self)`,
		},
		"lists":                        {`public var seqs: [Int64]`, `seqs: [Int64] = []`, `seqs = try fields.list("seqs", Int64Coder.self)`},
		"maps":                         {`public var counts: [Int64: String]`, `counts = try fields.map("counts", Int64Coder.self, TextCoder.self)`},
		"a type that is not generated": {`public var content: Content?`, `content = try fields.optional("content", MessageCoder<Content>.self)`},
		"JSON in JSON":                 {`public var extra: JSONObject?`, `extra = try fields.optional("extra", MessageCoder<JSONObject>.self)`},
		"a message that holds itself":  {`@Boxed public var parent: ChatV1.Everything?`, `public var children: [ChatV1.Everything]`},
		"a oneof": {
			`public var of: Of?`, `of = try Of(fields)`, `try of?.write(to: &fields)`, `public enum Of: Hashable, Sendable {`, `case byName(String)`,
			`if let value = try fields.optional("byName", TextCoder.self) {`, `} else if let value = try fields.optional("inner", MessageCoder<ChatV1.Everything.Type_>.self) {`,
		},
		"a nested message, whose name means something else to Swift": {`public struct Type_: ProtoMessage {`},
		"values of an enum": {
			`public enum HelpRole: ProtoEnum {`, `case unspecified`, "case `default`", `case teamLead`, `case unrecognized(Int)`, `ProtoEnumValue("HELP_ROLE_TEAM_LEAD", 7, .teamLead),`,
		},
		"a call":   {`public static let getEverything = RialtoContract.Call<ChatV1.Everything, Content>("rialto.chat.v1.ExampleService/GetEverything")`},
		"comments": {"    /// Everything there is.\n    /// In two lines.\n    public struct Everything: ProtoMessage {"},
		"the rest": {"// Made from rialto/chat/v1/example.proto by make generate. Do not edit.", "public enum ChatV1 {}", "extension ChatV1 {"},
	} {
		for _, line := range lines {
			if !strings.Contains(swift, line) {
				t.Errorf("%s: there is no %q", what, line)
			}
		}
	}
	for _, line := range []string{"struct Content", "CountsEntry", "_draft", "case draft"} {
		if strings.Contains(swift, line) {
			t.Errorf("there is %q", line)
		}
	}
	if t.Failed() {
		t.Log(swift)
	}
}

func TestAOneofWhoseMessageHoldsItIsIndirect(t *testing.T) {
	swift := generate(t, strings.Replace(contract, `type_name: ".rialto.chat.v1.Everything.Type" json_name: "inner"`, `type_name: ".rialto.chat.v1.Everything" json_name: "inner"`, 1))
	if !strings.Contains(swift, "public indirect enum Of: Hashable, Sendable {") {
		t.Error(swift)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"FindGateways": "findGateways", "Id": "id", "ID": "id", "HTMLBody": "htmlBody", "URLs": "urls", "P256Dh": "p256Dh", "In": "`in`", "2Fa": "_2Fa"} {
		if got := caseName(name); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}

func TestOwnNamesAMessageAndAType(t *testing.T) {
	g := generator{own: map[protoreflect.FullName]string{}}
	if err := g.addOwn("rialto.chat.v1.Content"); err == nil {
		t.Error("there is no type, and no error")
	}
}
