#!/usr/bin/env bash
# Runs the unchanged samples of the README, of docs/getting-started.md, docs/ids.md, docs/server-events.md, docs/message-transactions.md and docs/operating/webhooks.md, and the programs of docs/examples, against a new server of bin/rialto. Only the
# address differs, and wscat is skipped, because it is interactive. SHARE=K/N runs all commands, and the K-th (from 0) of N shares of the programs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
share=${SHARE:-0/1}
work=$(mktemp -d "${TMPDIR:-/tmp}/rialto-samples-XXXXXX")
server=""
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# blocks LANGUAGE FILE: the content of the page's code blocks in a language.
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
	# The two readmes have the same commands, so the second one needs other handles.
	[ "$page" != README.zh.md ] || commands=$(sed -E 's/"(alice|bob|carol)1"/"\1zh"/g' <<<"$commands")
	if ! bash -eo pipefail -c "$commands" >out 2>&1 || grep -q '"code":' out; then
		cat out
		echo "a sample of $page failed"
		exit 1
	fi
	echo "$page: $(grep -c '^{' out) answers"
done

at() { sed "s|http://127.0.0.1:7070|$address|g"; }
call() { curl -s "$address/rialto.$1" -H "Content-Type: application/json" -H "Authorization: Bearer $3" -d "$2"; }
for language in ts go; do # the two readmes have the same programs
	if ! diff <(blocks $language "$root/README.md" | sed 's|//[^/]*$||') <(blocks $language "$root/README.zh.md" | sed 's|//[^/]*$||'); then
		echo "the $language programs of README.md and README.zh.md differ"
		exit 1
	fi
done
bob=$(call account.v1.AccountService/Login '{"handle":"bob1","password":"battery staple"}' '')
token=$(jq -r .accessToken <<<"$bob")
chat=$(call chat.v1.ChatService/ListConversations '{}' "$token" | jq -r '[.conversations[] | select(.peer)][0].id')
arrives() { # arrives LANGUAGE PROGRAM...: waits until the program's message is stored, and then ends the program
	local language=$1 program
	"${@:2}" >out 2>&1 &
	program=$!
	for _ in $(seq 600); do
		if call chat.v1.ChatService/History "{\"conversation\":\"$chat\"}" "$token" | grep -q "hello from $language"; then
			kill "$program" 2>/dev/null || true
			wait "$program" || true
			echo "README.md: $language sent its message"
			return
		fi
		sleep 0.2
	done
	cat out
	echo "the readme's program in $language sent nothing"
	exit 1
}
answers() { # reports whether $chat has $text
	call chat.v1.ChatService/History "{\"conversation\":\"$chat\"}" "$token" | grep -q "$text"
}

# New projects, as a user would create them: with the package made by npm pack, and with the Go module.
mkdir app
npm pack --silent --pack-destination "$work" "$root/sdk/ts" >out 2>&1 || { cat out; exit 1; }
echo '{ "private": true, "type": "module" }' >app/package.json
# The oldest TypeScript that the package's readme promises.
oldest=$(grep -oE 'TypeScript [0-9.]+ or newer' "$root/sdk/ts/README.md" | grep -oE '[0-9]+\.[0-9]+')
(cd app && npm install --silent --prefer-offline --no-audit --no-fund "$work"/rialto-im-client-*.tgz "typescript@~$oldest.0" react@19 @types/react@19 @types/node@20) >out 2>&1 || { cat out; exit 1; }
mkdir -p go/bot
cp "$root/sdk/go/go.sum" go/go.sum
printf 'module example.org/app\n\n%s\n\nrequire github.com/rialto-im/rialto/sdk/go v0.1.0\n\nreplace github.com/rialto-im/rialto/sdk/go => %s/sdk/go\n' \
	"$(grep '^go ' "$root/sdk/go/go.mod")" "$root" >go/go.mod

# The programs of the readmes.
readme_programs() {
	blocks ts "$root/README.md" | at >app/chat.ts
	blocks tsx "$root/sdk/ts/README.md" >app/react.tsx
	(cd app && npx --no-install tsc --strict --target es2022 --module nodenext --jsx react-jsx --lib es2023,dom chat.ts react.tsx) || { echo "a program does not compile with TypeScript $oldest"; exit 1; }
	arrives TypeScript node --no-warnings app/chat.js
	if (cd app && node -e 'process.exit(process.features.require_module ? 0 : 1)'); then # CommonJS
		(cd app && node --no-warnings --input-type=commonjs -e 'new (require("@rialto-im/client").Client)({ url: "http://127.0.0.1" })')
	fi
	for map in app/node_modules/@rialto-im/client/dist/*.js.map; do # a debugger finds the sources
		for source in $(jq -r '.sources[]' "$map"); do
			[ -f "$(dirname "$map")/$source" ] || { echo "$map names $source, which the package lacks"; exit 1; }
		done
	done

	blocks go "$root/README.md" | at >go/main.go
	(cd go && GOWORK=off go build -mod=mod -o ../app-go .) >out 2>&1 || { cat out; exit 1; }
	arrives Go ./app-go
	# The bot of the SDK's own page.
	blocks go "$root/sdk/go/README.md" | at >go/bot/main.go
	(cd go && GOWORK=off go build -mod=mod -o ../app-bot ./bot) >out 2>&1 || { cat out; exit 1; }
	text="you said: hello from Go"
	./app-bot >out 2>&1 & # it was not running when the message was sent
	bot=$!
	for _ in $(seq 600); do ! answers || break; sleep 0.2; done
	kill "$bot" 2>/dev/null || true
	wait "$bot" || true
	answers || { cat out; echo "the bot of sdk/go/README.md did not answer"; exit 1; }
	echo "sdk/go/README.md: the bot answered"
}

# The echo bots of docs/server-events.md: they answer what alice wrote before they ran, once, also when they are started again.
event_bots() {
	alice=$(call account.v1.AccountService/Login '{"handle":"alice1","password":"correct horse"}' '' | jq -r .accessToken)
	admin=$(bin/rialto admin key create --data data --name samples)
	blocks go "$root/docs/server-events.md" | at >go/bot/main.go
	(cd go && GOWORK=off go build -mod=mod -o ../app-echo ./bot) >out 2>&1 || { cat out; exit 1; }
	blocks ts "$root/docs/server-events.md" | at >app/echo.ts
	(cd app && npx --no-install tsc --strict --target es2022 --module nodenext --lib es2023,dom echo.ts) >out 2>&1 || { cat out; exit 1; }
	echoes() { # echoes LANGUAGE PROGRAM...
		local language=$1 bot key with program
		bot=$(call account.v1.AdminService/PutUser "{\"externalId\":\"echo-$1\",\"handle\":\"echo$1\",\"displayName\":\"Echo\"}" "$admin" | jq -r .id)
		key=$(bin/rialto admin key create --data data --name "echo-$1" --bot "$bot")
		with=$(call chat.v1.ChatService/OpenDirect "{\"user\":\"$bot\"}" "$alice" | jq -r .id)
		call chat.v1.ChatService/Send "{\"conversation\":\"$with\",\"clientMsgId\":\"$1\",\"content\":{\"text\":\"/echo hello bot\"}}" "$alice" >/dev/null
		for _ in 1 2; do
			BOT_KEY=$key "${@:2}" >out 2>&1 &
			program=$!
			for _ in $(seq 600); do ! call chat.v1.ChatService/History "{\"conversation\":\"$with\"}" "$alice" | grep -q "$language: hello bot" || break; sleep 0.2; done
			kill "$program" 2>/dev/null || true
			wait "$program" || true
		done
		if [ "$(call chat.v1.ChatService/History "{\"conversation\":\"$with\"}" "$alice" | grep -o "$language: hello bot" | wc -l)" != 1 ]; then
			cat out
			echo "the bot of docs/server-events.md in $language did not answer once"
			exit 1
		fi
		echo "docs/server-events.md: the bot in $language answered"
	}
	echoes Go ./app-echo
	echoes TypeScript node --no-warnings app/echo.js
}

# The hooks of docs/operating/webhooks.md, each before a server of its own.
webhooks() {
	blocks go "$root/docs/operating/webhooks.md" >go/bot/main.go
	blocks ts "$root/docs/operating/webhooks.md" >app/hook.ts
	(cd app && npx --no-install tsc --strict --target es2022 --module nodenext --lib es2023,dom hook.ts) >out 2>&1 || { cat out; exit 1; }
	(cd go && GOWORK=off go build -mod=mod -o ../app-hook ./bot) >out 2>&1 || { cat out; exit 1; }
	moderates() { # moderates LANGUAGE PROGRAM...
		local language=$1 port hook line main=$server first=$address token chat text
		port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
		HOOK_SECRET=0123456789abcdef PORT=$port "${@:2}" >out 2>&1 &
		hook=$!
		bin/rialto serve --data "data-$1" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --set "chat.before_send.url=http://127.0.0.1:$port" --set chat.before_send.secret=0123456789abcdef --set chat.before_send.timeout=5s >ready 2>log &
		server=$!
		read -r line <ready || { cat log; exit 1; }
		address=$(grep -oE 'http://[0-9.:]+' <<<"$line" | head -1)
		token=$(call account.v1.AccountService/Register '{"handle":"anna","password":"a good password","displayName":"Anna"}' '' | jq -r .accessToken)
		chat=$(call chat.v1.ChatService/CreateGroup '{"title":"a group"}' "$token" | jq -r .id)
		for text in "hello" "darn" "call 0123456"; do # until the hook listens, messages are refused for now
			for _ in $(seq 600); do call chat.v1.ChatService/Send "{\"conversation\":\"$chat\",\"clientMsgId\":\"$text\",\"content\":{\"text\":\"$text\"}}" "$token" >sent; grep -q not_checked sent || break; sleep 0.2; done
			[ "$text" != darn ] || grep -q "Be nice." sent || { cat sent out; echo "the hook in $language refused nothing"; exit 1; }
		done
		if [ "$(call chat.v1.ChatService/History "{\"conversation\":\"$chat\"}" "$token" | jq -r '[.messages[].content.text // empty] | join(",")')" != "hello,call …" ]; then
			cat out log
			echo "the hook of docs/operating/webhooks.md in $language did not decide"
			exit 1
		fi
		kill "$server" "$hook" 2>/dev/null || true
		wait "$server" "$hook" || true
		server=$main address=$first
		echo "docs/operating/webhooks.md: the hook in $language decided"
	}
	moderates Go ./app-hook
	moderates TypeScript node --no-warnings app/hook.js
}

# The shops of docs/message-transactions.md, each before a server of its own: one order is committed, and of one the shop dies after it was paid.
shops() {
	blocks go "$root/docs/message-transactions.md" >go/bot/main.go
	blocks ts "$root/docs/message-transactions.md" >app/shop.ts
	sells() { # sells LANGUAGE BUILD PROGRAM...
		local language=$1 port shop line main=$server first=$address token user chat key paid
		port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
		key=$(bin/rialto admin key create --data "shop-$1" --name shop 2>/dev/null)
		bin/rialto serve --data "shop-$1" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --set transactions.allow_private=true >ready 2>log &
		server=$!
		read -r line <ready || { cat log; exit 1; }
		address=$(grep -oE 'http://[0-9.:]+' <<<"$line" | head -1)
		"$2" >out 2>&1 || { cat out; exit 1; }
		token=$(call account.v1.AccountService/Register '{"handle":"anna","password":"a good password","displayName":"Anna"}' '' | tee out | jq -r .accessToken)
		user=$(jq -r .user <out)
		chat=$(call chat.v1.ChatService/CreateGroup '{"title":"a group"}' "$token" | jq -r .id)
		export SHOP_KEY=$key PORT=$port
		"${@:3}" "order-1-$1" "$user" "$chat" >out 2>&1 || { cat out log; exit 1; }
		! DIE=yes "${@:3}" "order-2-$1" "$user" "$chat" >out 2>&1 || { cat out; echo "the shop in $language did not die"; exit 1; }
		"${@:3}" >out 2>&1 &
		shop=$!
		paid() { call chat.v1.ChatService/History "{\"conversation\":\"$chat\"}" "$token" | jq -r '[.messages[].content.text // empty] | join(",")'; }
		for _ in $(seq 600); do [ "$(paid)" != "Paid: order-1-$1" ] || { sleep 0.2; continue; }; break; done
		if [ "$(paid)" != "Paid: order-1-$1,Paid: order-2-$1" ]; then
			paid
			cat out log
			echo "the shop of docs/message-transactions.md in $language did not tell of its orders"
			exit 1
		fi
		kill "$server" "$shop" 2>/dev/null || true
		wait "$server" "$shop" || true
		server=$main address=$first
		echo "docs/message-transactions.md: the shop in $language told of its orders"
	}
	build_go_shop() { at <go/bot/main.go >go/bot/main.tmp && mv go/bot/main.tmp go/bot/main.go && cd go && GOWORK=off go build -mod=mod -o ../app-shop ./bot; cd ..; }
	build_ts_shop() { at <app/shop.ts >app/shop.tmp && mv app/shop.tmp app/shop.ts && cd app && npx --no-install tsc --strict --target es2022 --module nodenext --lib es2023,dom shop.ts; cd ..; }
	sells Go build_go_shop ./app-shop
	sells TypeScript build_ts_shop node --no-warnings app/shop.js
}

# The example bot, before its own model, which repeats what it is told: the answer grows, and is whole in the end.
examples() {
	(cd "$root/sdk/go" && go build -o "$work/streambot" ./examples/streambot) >out 2>&1 || { cat out; exit 1; }
	./streambot -url "$address" -handle alice1 -password "correct horse" -fake >out 2>&1 &
	bot=$!
	text="You said: a few words at a time"
	for n in $(seq 600); do # it answers what is said once it is there
		[ $((n % 25)) -ne 1 ] || call chat.v1.ChatService/Send "{\"conversation\":\"$chat\",\"clientMsgId\":\"words$n\",\"content\":{\"text\":\"a few words at a time\"}}" "$token" >/dev/null
		! answers || break
		sleep 0.2
	done
	kill "$bot" 2>/dev/null || true
	wait "$bot" || true
	answers || { cat out; echo "sdk/go/examples/streambot did not answer"; exit 1; }
	echo "sdk/go/examples/streambot: the bot answered"

	# The example client: the other user's client prints each message once, even after another sync. A recalled message has no content.
	recalled=$(call chat.v1.ChatService/Send "{\"conversation\":\"$chat\",\"clientMsgId\":\"slip\",\"content\":{\"text\":\"a slip\"}}" "$token" | jq -r .seq)
	call chat.v1.ChatService/Send "{\"conversation\":\"$chat\",\"clientMsgId\":\"recall\",\"content\":{\"recall\":{\"target\":{\"seq\":\"$recalled\"}}}}" "$token" >/dev/null
	example() { timeout 300 node --no-warnings --experimental-websocket "$root/docs/examples/client.mjs" "$address" "$@"; }
	printf 'one by the example\ntwo by the example\n' | example bob1 "battery staple" "$chat" >/dev/null
	alice=$(call account.v1.AccountService/Login '{"handle":"alice1","password":"correct horse"}' '' | jq -r .accessToken)
	# What is stored is in her stream a moment later.
	for _ in $(seq 600); do ! call chat.v1.ChatService/Sync '{}' "$alice" | grep -q "two by the example" || break; sleep 0.2; done
	example alice1 "correct horse" "$chat" </dev/null >first
	example alice1 "correct horse" "$chat" </dev/null >second
	if [ "$(grep -o '[a-z]* by the example' first | paste -sd, )" != "one by the example,two by the example" ] || [ -s second ]; then
		cat first second
		echo "docs/examples/client.mjs did not show what was sent, or showed it twice"
		exit 1
	fi
	echo "docs/examples/client.mjs: messages sent and shown"
}

# The example of a bridge, between a group and a room that knows webhooks only: the room fails once, and refuses a message; a post is repeated, and one has a wrong token.
webhook_bridge() {
	local room port bridge alice admin bot key group
	alice=$(call account.v1.AccountService/Login '{"handle":"alice1","password":"correct horse"}' '' | jq -r .accessToken)
	admin=$(bin/rialto admin key create --data data --name rooms)
	bot=$(call account.v1.AdminService/PutUser '{"externalId":"hooks","handle":"hooks","displayName":"Hooks"}' "$admin" | jq -r .id)
	key=$(bin/rialto admin key create --data data --name hooks --bot "$bot" --bridge hooks)
	group=$(call chat.v1.ChatService/CreateGroup '{"title":"support"}' "$alice" | jq -r .id)
	mkfifo listens
	node --input-type=module -e '
		import { appendFileSync } from "node:fs";
		import { createServer } from "node:http";
		let failed = false;
		const room = createServer(async (request, response) => {
			let body = "";
			for await (const part of request) body += part;
			const { username, text } = JSON.parse(body);
			if (!failed) { failed = true; response.writeHead(503).end(); return; }
			if (text === "forbidden") { response.writeHead(400).end("not here"); return; }
			appendFileSync("room", `${username}: ${text}\n`);
			response.end();
		}).listen(0, "127.0.0.1", () => console.log(room.address().port));' >listens &
	room=$!
	read -r port <listens
	local at=http://127.0.0.1:$port own
	own=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
	RIALTO_KEY=$key INCOMING_URL=$at OUTGOING_TOKEN=token OWN_USER=rialto ROOM=support PORT=$own node "$root/docs/examples/webhook-bridge.mjs" "$address" >out 2>&1 &
	bridge=$!
	link() { call bridge.v1.BridgeLinkService/ListBridgeLinks "{\"conversation\":\"$group\"}" "$alice" | jq -r '.links[0].state'; }
	for _ in $(seq 600); do # until the bridge is registered
		! call bridge.v1.BridgeLinkService/LinkBridge "{\"conversation\":\"$group\",\"bridge\":\"hooks\",\"address\":\"support\"}" "$alice" | grep -q PENDING || break
		sleep 0.2
	done
	for _ in $(seq 600); do [ "$(link)" != BRIDGE_LINK_STATE_ACTIVE ] || break; sleep 0.2; done
	post() { curl -s -o /dev/null -w '%{http_code} ' "http://127.0.0.1:$own" -d "{\"token\":\"$1\",\"post_id\":\"$2\",\"user_id\":\"$3\",\"user_name\":\"$3\",\"text\":\"$4\"}"; }
	post_form() { curl -s -o /dev/null -w '%{http_code} ' "http://127.0.0.1:$own" -d "$1"; }
	local answers
	answers=$(post token p1 eve "hello from there"; post token p1 eve "hello from there"; post wrong p2 eve "a forgery"; post token p3 rialto "an echo"
		post_form "token=token&message_id=m1&user_id=eve&user_name=eve&text=a+form"
		post_form "token=token&user_id=eve&text=without+an+id")
	for text in one forbidden two; do call chat.v1.ChatService/Send "{\"conversation\":\"$group\",\"clientMsgId\":\"$text\",\"content\":{\"text\":\"$text\"}}" "$alice" >/dev/null; done
	history() {
		call chat.v1.ChatService/History "{\"conversation\":\"$group\"}" "$alice" |
			jq -r '[.messages[] | select(.content.text) | "\(.content.bridge // "here") \(.content.text) \(.bridgeDeliveries[0] | if .externalId then "delivered" else .reason // "" end)"] | join(",")'
	}
	local want="hooks hello from there ,hooks a form ,here one delivered,here forbidden refused,here two delivered"
	for _ in $(seq 600); do [ "$(history)" != "$want" ] || break; sleep 0.2; done
	kill "$bridge" "$room" 2>/dev/null || true
	wait "$bridge" "$room" || true
	if [ "$(history)" != "$want" ] || [ "$answers" != "200 200 403 200 200 400 " ] || [ "$(paste -sd, room)" != "Alice: one,Alice: two" ]; then
		cat out room
		echo "docs/examples/webhook-bridge.mjs did not carry messages once; it answered $answers, and the group has $(history)"
		exit 1
	fi
	echo "docs/examples/webhook-bridge.mjs: messages carried both ways"
}

n=0
for sample in readme_programs event_bots shops webhooks examples webhook_bridge; do
	if [ $((n++ % ${share#*/})) -eq "${share%/*}" ]; then "$sample"; fi
done
