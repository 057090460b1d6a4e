// swift-tools-version:5.9
import PackageDescription

let package = Package(
    name: "rialto-client",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "RialtoClient", targets: ["RialtoClient"])],
    targets: [
        .target(name: "RialtoContract"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "RialtoClient", dependencies: ["RialtoContract", .target(name: "CSQLite", condition: .when(platforms: [.linux]))]),
        .testTarget(name: "RialtoContractTests", dependencies: ["RialtoContract"]),
        .testTarget(name: "RialtoClientTests", dependencies: ["RialtoClient"]),
    ]
)
