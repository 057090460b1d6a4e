import Foundation
import XCTest

import RialtoClient

/// The program of the README, which has to compile: the test compares both.
private func sample(url: String, folder: URL, show: @escaping @Sendable ([Message]) -> Void) async throws {
    let client = await Client(ClientOptions(url: url, storage: SQLiteStorage(folder: folder)))
    if try await !client.start() { try await client.logIn("alice", password: "a good password") } // or register, or adopt a session from your server

    let chat = try await client.openDirect(client.findUser("bob").id)
    Task { for await messages in await client.messages(chat.id) { show(messages) } }
    try await client.open(chat.id)
    try await client.sendText(chat.id, "Hello 你好 👋🏽")
}

final class ReadmeTests: XCTestCase {
    func testTheProgramOfTheReadmeIsTheOneAbove() throws {
        func lines(_ text: String) -> [String] { text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty } }
        let here = URL(fileURLWithPath: #filePath)
        let folder = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = lines(try String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8))
        let program = Array(readme.drop { $0 != "```swift" }.dropFirst().prefix { $0 != "```" })
        let source = lines(try String(contentsOf: here, encoding: .utf8))
        let begin = source.firstIndex { $0 == program.first } ?? source.count
        XCTAssertGreaterThanOrEqual(program.count, 5)
        XCTAssertEqual(program, Array(source.dropFirst(begin).prefix(program.count)))
    }
}
