#!/usr/bin/env bash
# Runs the samples of the readme, of docs/getting-started.md and of docs/ids.md, as they stand, against a new server of bin/rialto. Only the
# address is another, and wscat, which waits for a person, is left out. The SDK in sdk/ts must have been built.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/rialto-samples-XXXXXX")
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# blocks LANGUAGE FILE: what stands in the page's blocks of a language.
blocks() { awk -v start="\`\`\`$1" '$0 == "```" { on = 0 } on { print } $0 == start { on = 1 }' "$2"; }

mkdir "$work/bin"
ln -s "$root/bin/rialto" "$work/bin/rialto"
blocks yaml docs/getting-started.md >"$work/rialto.yaml"
cd "$work"
mkfifo ready
bin/rialto serve --config rialto.yaml --listen 127.0.0.1:0 --admin 127.0.0.1:0 >ready 2>log &
server=$!
read -r line <ready || { cat log; exit 1; }
address=$(grep -oE 'http://[0-9.:]+' <<<"$line" | head -1)

for page in README.md README.zh.md docs/getting-started.md docs/ids.md; do
	commands=$(blocks sh "$root/$page" | sed "s|http://127.0.0.1:7070|$address|g; /wscat/d")
	# The two readmes have the same commands: their users' handles are other ones.
	[ "$page" != README.zh.md ] || commands=$(sed -E 's/"(alice|bob|carol)1"/"\1zh"/g' <<<"$commands")
	if ! bash -eo pipefail -c "$commands" >out 2>&1 || grep -q '"code":' out; then
		cat out
		echo "a sample of $page failed"
		exit 1
	fi
	echo "$page: $(grep -c '^{' out) answers"
done

# The readme's two programs, between what declares the names that they use and what waits for the end.
at() { sed "s|http://127.0.0.1:7070|$address|g"; }
call() { curl -s "$address/rialto.$1" -H "Content-Type: application/json" -H "Authorization: Bearer $3" -d "$2"; }
bob=$(call account.v1.AccountService/Login '{"handle":"bob1","password":"battery staple"}' '')
token=$(jq -r .accessToken <<<"$bob")
chat=$(call chat.v1.ChatService/ListConversations '{}' "$token" | jq -r '.conversations[0].id')
mkdir -p node_modules/@rialto-im
ln -s "$root/sdk/ts" node_modules/@rialto-im/client
{
	blocks ts "$root/README.md" | at | sed "s|^const client|const bobId = \"$(jq -r .user <<<"$bob")\";\n&|"
	echo 'while (client.outgoing(chat.id).length > 0) await new Promise((later) => setTimeout(later, 20));'
	echo 'process.exit();'
} >sample.mjs
timeout 60 node --no-warnings --experimental-websocket sample.mjs
mkdir go
{
	printf 'package main\n\nimport (\n\t"context"\n\t"log"\n\n\trialto "github.com/rialto-im/rialto/sdk/go"\n)\n\n'
	printf 'func main() {\n\tctx, chat := context.Background(), uint64(%s)\n' "$chat"
	blocks go "$root/README.md" | at
	printf '\tif err != nil {\n\t\tlog.Fatal(receipt, err)\n\t}\n}\n'
} >go/main.go
(cd "$root" && timeout 300 go run "$work/go/main.go") >out 2>&1 || { cat out; exit 1; }
for language in TypeScript Go; do
	call chat.v1.ChatService/History "{\"conversation\":\"$chat\"}" "$token" | grep -q "hello from $language" || { echo "the readme's $language sent nothing"; exit 1; }
	echo "README.md: $language sent its message"
done

# The example client: what one sends the other prints, once, also when it asks again.
example() { timeout 60 node --no-warnings --experimental-websocket "$root/docs/examples/client.mjs" "$address" "$@"; }
printf 'one by the example\ntwo by the example\n' | example bob1 "battery staple" "$chat" >/dev/null
example alice1 "correct horse" "$chat" </dev/null >first
example alice1 "correct horse" "$chat" </dev/null >second
if [ "$(grep -o '[a-z]* by the example' first | paste -sd, )" != "one by the example,two by the example" ] || [ -s second ]; then
	cat first second
	echo "docs/examples/client.mjs did not show what was sent, or twice"
	exit 1
fi
echo "docs/examples/client.mjs: sent and shown"
