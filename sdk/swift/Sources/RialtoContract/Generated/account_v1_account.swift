// Made from rialto/account/v1/account.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.account.v1.
public enum AccountV1 {}

extension AccountV1 {
    /// AccountService: users, their sessions and profiles. Calls up to Refresh need no token.
    public enum AccountService {
        /// Register makes a user and a first session.
        public static let register = RialtoContract.Call<AccountV1.RegisterRequest, AccountV1.Session>("rialto.account.v1.AccountService/Register")
        /// GetLoginMethods tells a sign-in form which ways to sign in this server has besides the password.
        public static let getLoginMethods = RialtoContract.Call<AccountV1.GetLoginMethodsRequest, AccountV1.LoginMethods>("rialto.account.v1.AccountService/GetLoginMethods")
        /// Login opens a session with a password. It ends the session that the device had, and those that the server's device policy gives up for it.
        public static let login = RialtoContract.Call<AccountV1.LoginRequest, AccountV1.Session>("rialto.account.v1.AccountService/Login")
        /// RequestCode has a code for LoginWithCode sent to a user, where the server can (account.code_webhook). The answer is the same
        /// for a handle that nobody has. At most one code a minute is sent.
        public static let requestCode = RialtoContract.Call<AccountV1.RequestCodeRequest, AccountV1.RequestCodeResponse>("rialto.account.v1.AccountService/RequestCode")
        /// LoginWithCode is Login with a code that was sent: good for 10 minutes, for one login, and dead after 5 wrong ones.
        public static let loginWithCode = RialtoContract.Call<AccountV1.LoginWithCodeRequest, AccountV1.Session>("rialto.account.v1.AccountService/LoginWithCode")
        /// LoginWithSecondFactor completes a login that was answered with a second factor, for the same client. A challenge is good for 5 minutes, for
        /// one login, and dead after 5 wrong codes.
        public static let loginWithSecondFactor = RialtoContract.Call<AccountV1.LoginWithSecondFactorRequest, AccountV1.Session>("rialto.account.v1.AccountService/LoginWithSecondFactor")
        /// StartPasskeyLogin gives what a client passes to its authenticator to sign in with a passkey. The answer is the same for everybody.
        public static let startPasskeyLogin = RialtoContract.Call<AccountV1.StartPasskeyLoginRequest, AccountV1.PasskeyOptions>("rialto.account.v1.AccountService/StartPasskeyLogin")
        /// LoginWithPasskey opens a session with the answer of the authenticator. It needs no second factor: the authenticator has verified the user.
        public static let loginWithPasskey = RialtoContract.Call<AccountV1.LoginWithPasskeyRequest, AccountV1.Session>("rialto.account.v1.AccountService/LoginWithPasskey")
        /// RequestPasswordReset has a code for ResetPassword sent to an address that the user has confirmed, where the server can. The answer is the same for a
        /// handle that nobody has, and for a user without an address. At most one code a minute is sent, and five an hour.
        public static let requestPasswordReset = RialtoContract.Call<AccountV1.RequestPasswordResetRequest, AccountV1.RequestPasswordResetResponse>("rialto.account.v1.AccountService/RequestPasswordReset")
        /// ResetPassword sets a new password with a code that was sent: good for 15 minutes, once. It ends all of the user's sessions, and opens none: log in
        /// with the new password, and with a second factor if the account has one.
        public static let resetPassword = RialtoContract.Call<AccountV1.ResetPasswordRequest, AccountV1.ResetPasswordResponse>("rialto.account.v1.AccountService/ResetPassword")
        /// Refresh gives new tokens for a refresh token. Each is used once; one that is shown again after more than 10 seconds ends its session.
        public static let refresh = RialtoContract.Call<AccountV1.RefreshRequest, AccountV1.Session>("rialto.account.v1.AccountService/Refresh")
        /// Logout ends the caller's session, or all of the user's.
        public static let logout = RialtoContract.Call<AccountV1.LogoutRequest, AccountV1.LogoutResponse>("rialto.account.v1.AccountService/Logout")
        /// ListSessions gives the user's open sessions, for a page on which to end them.
        public static let listSessions = RialtoContract.Call<AccountV1.ListSessionsRequest, AccountV1.ListSessionsResponse>("rialto.account.v1.AccountService/ListSessions")
        /// RevokeSession ends one of the user's sessions at once, with its connections.
        public static let revokeSession = RialtoContract.Call<AccountV1.RevokeSessionRequest, AccountV1.RevokeSessionResponse>("rialto.account.v1.AccountService/RevokeSession")
        /// ChangePassword sets a new password, and ends all of the user's sessions but this one.
        public static let changePassword = RialtoContract.Call<AccountV1.ChangePasswordRequest, AccountV1.ChangePasswordResponse>("rialto.account.v1.AccountService/ChangePassword")
        /// GetSecurity gives how the caller's account is protected.
        public static let getSecurity = RialtoContract.Call<AccountV1.GetSecurityRequest, AccountV1.Security>("rialto.account.v1.AccountService/GetSecurity")
        /// ConfirmIdentity lets the caller's session change how the account is protected, for 10 minutes. A login does so too.
        public static let confirmIdentity = RialtoContract.Call<AccountV1.ConfirmIdentityRequest, AccountV1.ConfirmIdentityResponse>("rialto.account.v1.AccountService/ConfirmIdentity")
        /// StartTotp gives a new secret for an authenticator app. It has no effect before ConfirmTotp, and replaces an unconfirmed one.
        public static let startTotp = RialtoContract.Call<AccountV1.StartTotpRequest, AccountV1.StartTotpResponse>("rialto.account.v1.AccountService/StartTotp")
        /// ConfirmTotp makes codes of the app that has the secret the second factor of logins. It gives the recovery codes.
        public static let confirmTotp = RialtoContract.Call<AccountV1.ConfirmTotpRequest, AccountV1.RecoveryCodes>("rialto.account.v1.AccountService/ConfirmTotp")
        /// RemoveTotp ends the second factor, with its recovery codes.
        public static let removeTotp = RialtoContract.Call<AccountV1.RemoveTotpRequest, AccountV1.RemoveTotpResponse>("rialto.account.v1.AccountService/RemoveTotp")
        /// CreateRecoveryCodes replaces the recovery codes.
        public static let createRecoveryCodes = RialtoContract.Call<AccountV1.CreateRecoveryCodesRequest, AccountV1.RecoveryCodes>("rialto.account.v1.AccountService/CreateRecoveryCodes")
        /// ListPasskeys gives the caller's passkeys, the oldest first.
        public static let listPasskeys = RialtoContract.Call<AccountV1.ListPasskeysRequest, AccountV1.ListPasskeysResponse>("rialto.account.v1.AccountService/ListPasskeys")
        /// StartPasskey gives what a client passes to its authenticator to create a passkey for the caller.
        public static let startPasskey = RialtoContract.Call<AccountV1.StartPasskeyRequest, AccountV1.PasskeyOptions>("rialto.account.v1.AccountService/StartPasskey")
        /// AddPasskey stores a passkey that an authenticator has created. An account has at most 20.
        public static let addPasskey = RialtoContract.Call<AccountV1.AddPasskeyRequest, AccountV1.Passkey>("rialto.account.v1.AccountService/AddPasskey")
        /// RenamePasskey changes the name of a passkey.
        public static let renamePasskey = RialtoContract.Call<AccountV1.RenamePasskeyRequest, AccountV1.Passkey>("rialto.account.v1.AccountService/RenamePasskey")
        /// RemovePasskey removes a passkey: nobody can sign in with it any more. Sessions that it opened stay open.
        public static let removePasskey = RialtoContract.Call<AccountV1.RemovePasskeyRequest, AccountV1.RemovePasskeyResponse>("rialto.account.v1.AccountService/RemovePasskey")
        /// SetContact has a code sent to an address, for VerifyContact.
        public static let setContact = RialtoContract.Call<AccountV1.SetContactRequest, AccountV1.SetContactResponse>("rialto.account.v1.AccountService/SetContact")
        /// VerifyContact makes the address, to which a code was sent, the caller's; it replaces an earlier one. A code is good for 15 minutes, once.
        public static let verifyContact = RialtoContract.Call<AccountV1.VerifyContactRequest, AccountV1.Contact>("rialto.account.v1.AccountService/VerifyContact")
        /// RemoveContact removes an address.
        public static let removeContact = RialtoContract.Call<AccountV1.RemoveContactRequest, AccountV1.RemoveContactResponse>("rialto.account.v1.AccountService/RemoveContact")
        /// CreateTicket gives a single-use ticket, good for 60 seconds, to open a socket with ?ticket=.
        public static let createTicket = RialtoContract.Call<AccountV1.CreateTicketRequest, AccountV1.CreateTicketResponse>("rialto.account.v1.AccountService/CreateTicket")
        /// GetUsers gives those of the users who exist, in no order.
        public static let getUsers = RialtoContract.Call<AccountV1.GetUsersRequest, AccountV1.GetUsersResponse>("rialto.account.v1.AccountService/GetUsers")
        /// SearchUsers finds by the beginning of a handle or a part of a display name, at most 20, but none who blocks the caller.
        public static let searchUsers = RialtoContract.Call<AccountV1.SearchUsersRequest, AccountV1.SearchUsersResponse>("rialto.account.v1.AccountService/SearchUsers")
        /// UpdateProfile sets what is given; absent fields stay.
        public static let updateProfile = RialtoContract.Call<AccountV1.UpdateProfileRequest, AccountV1.User>("rialto.account.v1.AccountService/UpdateProfile")
        /// GetSettings gives what the user chose, the same on all devices.
        public static let getSettings = RialtoContract.Call<AccountV1.GetSettingsRequest, AccountV1.Settings>("rialto.account.v1.AccountService/GetSettings")
        /// UpdateSettings replaces all settings.
        public static let updateSettings = RialtoContract.Call<AccountV1.UpdateSettingsRequest, AccountV1.Settings>("rialto.account.v1.AccountService/UpdateSettings")
        /// RequestExport begins an archive of all that the server has of the caller, in the format of docs/formats/export.md. At most one is made in 24 hours; until
        /// then a repetition gives that one.
        public static let requestExport = RialtoContract.Call<AccountV1.RequestExportRequest, AccountV1.Export>("rialto.account.v1.AccountService/RequestExport")
        /// GetExport gives the newest export of the caller, with an address to download it once it is complete.
        public static let getExport = RialtoContract.Call<AccountV1.GetExportRequest, AccountV1.Export>("rialto.account.v1.AccountService/GetExport")
        /// RequestErasure has the caller's account erased after a grace period, with all that the server has of the caller. Until then everything works as before. The
        /// session must have logged in, or confirmed its user's identity with ConfirmIdentity, in the last 10 minutes. A repetition changes nothing.
        public static let requestErasure = RialtoContract.Call<AccountV1.RequestErasureRequest, AccountV1.Erasure>("rialto.account.v1.AccountService/RequestErasure")
        /// CancelErasure gives up an erasure that has not begun.
        public static let cancelErasure = RialtoContract.Call<AccountV1.CancelErasureRequest, AccountV1.Erasure>("rialto.account.v1.AccountService/CancelErasure")
        /// GetErasure gives whether, and when, the caller's account is erased.
        public static let getErasure = RialtoContract.Call<AccountV1.GetErasureRequest, AccountV1.Erasure>("rialto.account.v1.AccountService/GetErasure")
    }

    /// GraphService: friends, blocks, follows. Each change travels in the sync streams of both users (a block in one's own only).
    public enum GraphService {
        /// RequestFriend asks a user to be friends. Where that user has asked the caller, they are friends at once.
        public static let requestFriend = RialtoContract.Call<AccountV1.RequestFriendRequest, ChatV1.Relation>("rialto.account.v1.GraphService/RequestFriend")
        /// AnswerFriend accepts or declines what a user asked. Who is declined sees the request gone.
        public static let answerFriend = RialtoContract.Call<AccountV1.AnswerFriendRequest, ChatV1.Relation>("rialto.account.v1.GraphService/AnswerFriend")
        /// RemarkFriend gives a friend a name that the caller alone sees; empty takes it away.
        public static let remarkFriend = RialtoContract.Call<AccountV1.RemarkFriendRequest, ChatV1.Relation>("rialto.account.v1.GraphService/RemarkFriend")
        /// DeleteFriend ends a friendship, or takes a request back.
        public static let deleteFriend = RialtoContract.Call<AccountV1.DeleteFriendRequest, ChatV1.Relation>("rialto.account.v1.GraphService/DeleteFriend")
        /// Block keeps a user from writing to the caller, from the moment of the answer on, and ends a friendship. The other is not told.
        public static let block = RialtoContract.Call<AccountV1.BlockRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Block")
        /// Unblock lets a user write again. A friendship that was ended stays ended.
        public static let unblock = RialtoContract.Call<AccountV1.UnblockRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Unblock")
        /// Follow and Unfollow are one's own; the other is not asked.
        public static let follow = RialtoContract.Call<AccountV1.FollowRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Follow")
        public static let unfollow = RialtoContract.Call<AccountV1.UnfollowRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Unfollow")
        /// Mute keeps a user's posts out of the caller's home timeline, and Unmute ends that. The other is not told. Messages are not affected.
        public static let mute = RialtoContract.Call<AccountV1.MuteRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Mute")
        public static let unmute = RialtoContract.Call<AccountV1.UnmuteRequest, ChatV1.Relation>("rialto.account.v1.GraphService/Unmute")
        /// ListRelations pages over all of the caller's relations.
        public static let listRelations = RialtoContract.Call<AccountV1.ListRelationsRequest, AccountV1.ListRelationsResponse>("rialto.account.v1.GraphService/ListRelations")
        /// SuggestFriends by mutual friends, most first, at most 20. Of a user with very many relations the newest are read.
        public static let suggestFriends = RialtoContract.Call<AccountV1.SuggestFriendsRequest, AccountV1.SuggestFriendsResponse>("rialto.account.v1.GraphService/SuggestFriends")
    }

    /// AdminService is for business servers: authenticated by API key only.
    public enum AdminService {
        /// PutUser creates or updates a user of one's own, by external id.
        public static let putUser = RialtoContract.Call<AccountV1.PutUserRequest, AccountV1.User>("rialto.account.v1.AdminService/PutUser")
        /// CreateSession logs a user in on behalf of one's own login.
        public static let createSession = RialtoContract.Call<AccountV1.CreateSessionRequest, AccountV1.Session>("rialto.account.v1.AdminService/CreateSession")
        /// PutOfficialAccount makes a user an official account with a channel, or changes it. A retry changes nothing.
        public static let putOfficialAccount = RialtoContract.Call<AccountV1.PutOfficialAccountRequest, AccountV1.PutOfficialAccountResponse>("rialto.account.v1.AdminService/PutOfficialAccount")
        /// EraseUser erases a user, without a grace period. When it answers, the user's sessions have ended, and nobody reads the user's messages; the rest
        /// is deleted then, and GetUserErasure says how far that is. A retry changes nothing.
        public static let eraseUser = RialtoContract.Call<AccountV1.EraseUserRequest, AccountV1.Erasure>("rialto.account.v1.AdminService/EraseUser")
        /// GetUserErasure gives the report of a user's erasure.
        public static let getUserErasure = RialtoContract.Call<AccountV1.GetUserErasureRequest, AccountV1.Erasure>("rialto.account.v1.AdminService/GetUserErasure")
    }

    public struct User: ProtoMessage {
        public var id: String
        /// Handle is unique: 3 to 32 of a-z, 0-9, _ and .
        public var handle: String
        /// DisplayName of 1 to 64 characters.
        public var displayName: String
        /// Avatar is an upload id; 0 for none.
        public var avatar: String
        /// Bio of at most 500 characters.
        public var bio: String
        /// AvatarUrl is a URL good for a while.
        public var avatarUrl: String
        /// Official: the user is an official account. Show a verified mark beside the name.
        public var official: Bool
        /// Deleted: the account was erased. The handle and the display name say nothing; show words of your own for it.
        public var deleted: Bool
        /// Bridge is the name of the bridge over which the user writes, who is a person in another system and cannot log in here. Show it beside the name. Empty: none.
        public var bridge: String

        public init(id: String = "0", handle: String = "", displayName: String = "", avatar: String = "0", bio: String = "", avatarUrl: String = "", official: Bool = false, deleted: Bool = false, bridge: String = "") {
            self.id = id
            self.handle = handle
            self.displayName = displayName
            self.avatar = avatar
            self.bio = bio
            self.avatarUrl = avatarUrl
            self.official = official
            self.deleted = deleted
            self.bridge = bridge
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            displayName = try fields.value("displayName", TextCoder.self)
            avatar = try fields.value("avatar", IDCoder.self)
            bio = try fields.value("bio", TextCoder.self)
            avatarUrl = try fields.value("avatarUrl", TextCoder.self)
            official = try fields.value("official", BoolCoder.self)
            deleted = try fields.value("deleted", BoolCoder.self)
            bridge = try fields.value("bridge", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("displayName", displayName, TextCoder.self)
            try fields.value("avatar", avatar, IDCoder.self)
            try fields.value("bio", bio, TextCoder.self)
            try fields.value("avatarUrl", avatarUrl, TextCoder.self)
            try fields.value("official", official, BoolCoder.self)
            try fields.value("deleted", deleted, BoolCoder.self)
            try fields.value("bridge", bridge, TextCoder.self)
        }

    }

    public struct RegisterRequest: ProtoMessage {
        /// Handle of 3 to 32 characters: a-z, 0-9, _ and .
        public var handle: String
        /// Password of 8 to 128 characters that is not easy to guess.
        public var password: String
        /// DisplayName of 1 to 64 characters; empty: the handle.
        public var displayName: String
        public var client: AccountV1.Client?

        public init(handle: String = "", password: String = "", displayName: String = "", client: AccountV1.Client? = nil) {
            self.handle = handle
            self.password = password
            self.displayName = displayName
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
            password = try fields.value("password", TextCoder.self)
            displayName = try fields.value("displayName", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("password", password, TextCoder.self)
            try fields.value("displayName", displayName, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    /// Client says what device this is.
    public struct Client: ProtoMessage {
        /// Name for the session list, as "Firefox on Linux".
        public var name: String
        /// Type for the device policy: web, phone, tablet, desktop, terminal, server.
        public var type: String
        /// Device given at an earlier login on this installation; 0 for a new one.
        public var device: String
        /// DeviceKey that came with that device: with it a login is not held up while others try passwords with this handle.
        public var deviceKey: String

        public init(name: String = "", type: String = "", device: String = "0", deviceKey: String = "") {
            self.name = name
            self.type = type
            self.device = device
            self.deviceKey = deviceKey
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            type = try fields.value("type", TextCoder.self)
            device = try fields.value("device", IDCoder.self)
            deviceKey = try fields.value("deviceKey", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("type", type, TextCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("deviceKey", deviceKey, TextCoder.self)
        }

    }

    public struct LoginRequest: ProtoMessage {
        public var handle: String
        public var password: String
        public var client: AccountV1.Client?

        public init(handle: String = "", password: String = "", client: AccountV1.Client? = nil) {
            self.handle = handle
            self.password = password
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
            password = try fields.value("password", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("password", password, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct GetLoginMethodsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct LoginMethods: ProtoMessage {
        /// Codes are sent by RequestCode: account.code_webhook, account.smtp or account.sms_webhook is configured.
        public var code: Bool
        /// Resets are where RequestPasswordReset can send codes; empty if it cannot.
        public var resets: [AccountV1.ContactKind]
        /// Passkeys work at the page, or the address, that this call came from.
        public var passkeys: Bool

        public init(code: Bool = false, resets: [AccountV1.ContactKind] = [], passkeys: Bool = false) {
            self.code = code
            self.resets = resets
            self.passkeys = passkeys
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            code = try fields.value("code", BoolCoder.self)
            resets = try fields.list("resets", EnumCoder<AccountV1.ContactKind>.self)
            passkeys = try fields.value("passkeys", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("code", code, BoolCoder.self)
            try fields.list("resets", resets, EnumCoder<AccountV1.ContactKind>.self)
            try fields.value("passkeys", passkeys, BoolCoder.self)
        }

    }

    public struct RequestCodeRequest: ProtoMessage {
        public var handle: String

        public init(handle: String = "") {
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
        }

    }

    public struct RequestCodeResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct LoginWithCodeRequest: ProtoMessage {
        public var handle: String
        /// Code of six digits, or of eight letters and digits, as it was sent.
        public var code: String
        public var client: AccountV1.Client?

        public init(handle: String = "", code: String = "", client: AccountV1.Client? = nil) {
            self.handle = handle
            self.code = code
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
            code = try fields.value("code", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("code", code, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    /// Contact is an address at which the user has received a code.
    public struct Contact: ProtoMessage {
        public var kind: AccountV1.ContactKind
        /// Address is an email address, or a phone number as +4915112345678.
        public var address: String

        public init(kind: AccountV1.ContactKind = .unspecified, address: String = "") {
            self.kind = kind
            self.address = address
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<AccountV1.ContactKind>.self)
            address = try fields.value("address", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<AccountV1.ContactKind>.self)
            try fields.value("address", address, TextCoder.self)
        }

    }

    public struct RequestPasswordResetRequest: ProtoMessage {
        public var handle: String
        public var kind: AccountV1.ContactKind
        public var client: AccountV1.Client?

        public init(handle: String = "", kind: AccountV1.ContactKind = .unspecified, client: AccountV1.Client? = nil) {
            self.handle = handle
            self.kind = kind
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
            kind = try fields.value("kind", EnumCoder<AccountV1.ContactKind>.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("kind", kind, EnumCoder<AccountV1.ContactKind>.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct RequestPasswordResetResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ResetPasswordRequest: ProtoMessage {
        public var handle: String
        /// Code of eight letters and digits, as it was sent.
        public var code: String
        /// NewPassword of 8 to 128 characters that is not easy to guess.
        public var newPassword: String
        public var client: AccountV1.Client?

        public init(handle: String = "", code: String = "", newPassword: String = "", client: AccountV1.Client? = nil) {
            self.handle = handle
            self.code = code
            self.newPassword = newPassword
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            handle = try fields.value("handle", TextCoder.self)
            code = try fields.value("code", TextCoder.self)
            newPassword = try fields.value("newPassword", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("code", code, TextCoder.self)
            try fields.value("newPassword", newPassword, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct ResetPasswordResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct SetContactRequest: ProtoMessage {
        public var kind: AccountV1.ContactKind
        /// Address is an email address, or a phone number with its country, as +4915112345678.
        public var address: String

        public init(kind: AccountV1.ContactKind = .unspecified, address: String = "") {
            self.kind = kind
            self.address = address
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<AccountV1.ContactKind>.self)
            address = try fields.value("address", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<AccountV1.ContactKind>.self)
            try fields.value("address", address, TextCoder.self)
        }

    }

    public struct SetContactResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct VerifyContactRequest: ProtoMessage {
        public var kind: AccountV1.ContactKind
        /// Code of eight letters and digits, as it was sent.
        public var code: String

        public init(kind: AccountV1.ContactKind = .unspecified, code: String = "") {
            self.kind = kind
            self.code = code
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<AccountV1.ContactKind>.self)
            code = try fields.value("code", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<AccountV1.ContactKind>.self)
            try fields.value("code", code, TextCoder.self)
        }

    }

    public struct RemoveContactRequest: ProtoMessage {
        public var kind: AccountV1.ContactKind

        public init(kind: AccountV1.ContactKind = .unspecified) {
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<AccountV1.ContactKind>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<AccountV1.ContactKind>.self)
        }

    }

    public struct RemoveContactResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct RefreshRequest: ProtoMessage {
        public var refreshToken: String

        public init(refreshToken: String = "") {
            self.refreshToken = refreshToken
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            refreshToken = try fields.value("refreshToken", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("refreshToken", refreshToken, TextCoder.self)
        }

    }

    public struct Session: ProtoMessage {
        public var user: String
        /// Device to give at the next login on this installation.
        public var device: String
        public var accessToken: String
        /// ExpiresMs is when the access token ends (15 minutes).
        public var expiresMs: Int64
        /// RefreshToken for Refresh; used once.
        public var refreshToken: String
        public var session: String
        /// DeviceKey to give with the device at the next login. It stays the same; keep it as safe as a password.
        public var deviceKey: String
        /// SecondFactor is needed: there is no session yet, and all else is empty. Complete the login with LoginWithSecondFactor.
        public var secondFactor: AccountV1.SecondFactor?

        public init(user: String = "0", device: String = "0", accessToken: String = "", expiresMs: Int64 = 0, refreshToken: String = "", session: String = "0", deviceKey: String = "", secondFactor: AccountV1.SecondFactor? = nil) {
            self.user = user
            self.device = device
            self.accessToken = accessToken
            self.expiresMs = expiresMs
            self.refreshToken = refreshToken
            self.session = session
            self.deviceKey = deviceKey
            self.secondFactor = secondFactor
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            accessToken = try fields.value("accessToken", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
            refreshToken = try fields.value("refreshToken", TextCoder.self)
            session = try fields.value("session", IDCoder.self)
            deviceKey = try fields.value("deviceKey", TextCoder.self)
            secondFactor = try fields.optional("secondFactor", MessageCoder<AccountV1.SecondFactor>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("accessToken", accessToken, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
            try fields.value("refreshToken", refreshToken, TextCoder.self)
            try fields.value("session", session, IDCoder.self)
            try fields.value("deviceKey", deviceKey, TextCoder.self)
            try fields.optional("secondFactor", secondFactor, MessageCoder<AccountV1.SecondFactor>.self)
        }

    }

    /// SecondFactor of a login whose first factor was right.
    public struct SecondFactor: ProtoMessage {
        /// Challenge to give to LoginWithSecondFactor. Keep it as safe as a password.
        public var challenge: String
        /// ExpiresMs is when the challenge ends (5 minutes).
        public var expiresMs: Int64

        public init(challenge: String = "", expiresMs: Int64 = 0) {
            self.challenge = challenge
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            challenge = try fields.value("challenge", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("challenge", challenge, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct LoginWithSecondFactorRequest: ProtoMessage {
        public var challenge: String
        /// Code of six digits that the authenticator app shows, or a recovery code.
        public var code: String
        public var client: AccountV1.Client?

        public init(challenge: String = "", code: String = "", client: AccountV1.Client? = nil) {
            self.challenge = challenge
            self.code = code
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            challenge = try fields.value("challenge", TextCoder.self)
            code = try fields.value("code", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("challenge", challenge, TextCoder.self)
            try fields.value("code", code, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct StartPasskeyLoginRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// PasskeyOptions are for one use, within 5 minutes.
    public struct PasskeyOptions: ProtoMessage {
        /// Options in JSON, for PublicKeyCredential.parseCreationOptionsFromJSON (StartPasskey) or parseRequestOptionsFromJSON (StartPasskeyLogin) of a browser, and
        /// the credential managers of Android and iOS.
        public var options: String
        /// ExpiresMs is when they end.
        public var expiresMs: Int64

        public init(options: String = "", expiresMs: Int64 = 0) {
            self.options = options
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            options = try fields.value("options", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("options", options, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct LoginWithPasskeyRequest: ProtoMessage {
        /// Credential that the authenticator returned, in JSON (PublicKeyCredential.toJSON): at most 12 KiB.
        public var credential: String
        public var client: AccountV1.Client?

        public init(credential: String = "", client: AccountV1.Client? = nil) {
            self.credential = credential
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            credential = try fields.value("credential", TextCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("credential", credential, TextCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct ListPasskeysRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListPasskeysResponse: ProtoMessage {
        public var passkeys: [AccountV1.Passkey]

        public init(passkeys: [AccountV1.Passkey] = []) {
            self.passkeys = passkeys
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            passkeys = try fields.list("passkeys", MessageCoder<AccountV1.Passkey>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("passkeys", passkeys, MessageCoder<AccountV1.Passkey>.self)
        }

    }

    public struct Passkey: ProtoMessage {
        public var id: String
        /// Name that the user gave it.
        public var name: String
        public var createdMs: Int64
        /// UsedMs is when it last signed in; 0 if it has not.
        public var usedMs: Int64
        /// BackedUp: it is not in one device alone, but kept by a service such as a password manager.
        public var backedUp: Bool

        public init(id: String = "0", name: String = "", createdMs: Int64 = 0, usedMs: Int64 = 0, backedUp: Bool = false) {
            self.id = id
            self.name = name
            self.createdMs = createdMs
            self.usedMs = usedMs
            self.backedUp = backedUp
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            usedMs = try fields.value("usedMs", Int64Coder.self)
            backedUp = try fields.value("backedUp", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("usedMs", usedMs, Int64Coder.self)
            try fields.value("backedUp", backedUp, BoolCoder.self)
        }

    }

    public struct StartPasskeyRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct AddPasskeyRequest: ProtoMessage {
        /// Name of 1 to 64 characters.
        public var name: String
        /// Credential that the authenticator returned, in JSON (PublicKeyCredential.toJSON): at most 12 KiB.
        public var credential: String

        public init(name: String = "", credential: String = "") {
            self.name = name
            self.credential = credential
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            credential = try fields.value("credential", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("credential", credential, TextCoder.self)
        }

    }

    public struct RenamePasskeyRequest: ProtoMessage {
        public var id: String
        /// Name of 1 to 64 characters.
        public var name: String

        public init(id: String = "0", name: String = "") {
            self.id = id
            self.name = name
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
        }

    }

    public struct RemovePasskeyRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct RemovePasskeyResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetSecurityRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// Security is how an account is protected.
    public struct Security: ProtoMessage {
        /// Password: the account has one.
        public var password: Bool
        /// Totp: logins need a code of an authenticator app.
        public var totp: Bool
        /// RecoveryCodes that are not used yet.
        public var recoveryCodes: Int
        /// ConfirmedUntilMs is until when this session may change how the account is protected. Later, it needs ConfirmIdentity.
        public var confirmedUntilMs: Int64
        /// Contacts that the user has verified, at most one of each kind.
        public var contacts: [AccountV1.Contact]
        /// ContactKinds that this server can send codes to.
        public var contactKinds: [AccountV1.ContactKind]

        public init(password: Bool = false, totp: Bool = false, recoveryCodes: Int = 0, confirmedUntilMs: Int64 = 0, contacts: [AccountV1.Contact] = [], contactKinds: [AccountV1.ContactKind] = []) {
            self.password = password
            self.totp = totp
            self.recoveryCodes = recoveryCodes
            self.confirmedUntilMs = confirmedUntilMs
            self.contacts = contacts
            self.contactKinds = contactKinds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            password = try fields.value("password", BoolCoder.self)
            totp = try fields.value("totp", BoolCoder.self)
            recoveryCodes = try fields.value("recoveryCodes", IntCoder.self)
            confirmedUntilMs = try fields.value("confirmedUntilMs", Int64Coder.self)
            contacts = try fields.list("contacts", MessageCoder<AccountV1.Contact>.self)
            contactKinds = try fields.list("contactKinds", EnumCoder<AccountV1.ContactKind>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("password", password, BoolCoder.self)
            try fields.value("totp", totp, BoolCoder.self)
            try fields.value("recoveryCodes", recoveryCodes, IntCoder.self)
            try fields.value("confirmedUntilMs", confirmedUntilMs, Int64Coder.self)
            try fields.list("contacts", contacts, MessageCoder<AccountV1.Contact>.self)
            try fields.list("contactKinds", contactKinds, EnumCoder<AccountV1.ContactKind>.self)
        }

    }

    public struct ConfirmIdentityRequest: ProtoMessage {
        /// Password, if the account has one.
        public var password: String
        /// Code of the authenticator app, or a recovery code, if logins need one.
        public var code: String

        public init(password: String = "", code: String = "") {
            self.password = password
            self.code = code
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            password = try fields.value("password", TextCoder.self)
            code = try fields.value("code", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("password", password, TextCoder.self)
            try fields.value("code", code, TextCoder.self)
        }

    }

    public struct ConfirmIdentityResponse: ProtoMessage {
        /// ConfirmedUntilMs is until when this session may change how the account is protected.
        public var confirmedUntilMs: Int64

        public init(confirmedUntilMs: Int64 = 0) {
            self.confirmedUntilMs = confirmedUntilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            confirmedUntilMs = try fields.value("confirmedUntilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("confirmedUntilMs", confirmedUntilMs, Int64Coder.self)
        }

    }

    public struct StartTotpRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct StartTotpResponse: ProtoMessage {
        /// Secret in base 32, to type into an authenticator app. The server does not give it again.
        public var secret: String
        /// Uri is an otpauth: URI with the secret, to show as a QR code.
        public var uri: String

        public init(secret: String = "", uri: String = "") {
            self.secret = secret
            self.uri = uri
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            secret = try fields.value("secret", TextCoder.self)
            uri = try fields.value("uri", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("secret", secret, TextCoder.self)
            try fields.value("uri", uri, TextCoder.self)
        }

    }

    public struct ConfirmTotpRequest: ProtoMessage {
        /// Code of six digits that the authenticator app shows.
        public var code: String

        public init(code: String = "") {
            self.code = code
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            code = try fields.value("code", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("code", code, TextCoder.self)
        }

    }

    public struct RemoveTotpRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct RemoveTotpResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CreateRecoveryCodesRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// RecoveryCodes each replace one code of the authenticator app, once. The server does not give them again.
    public struct RecoveryCodes: ProtoMessage {
        public var codes: [String]

        public init(codes: [String] = []) {
            self.codes = codes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            codes = try fields.list("codes", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("codes", codes, TextCoder.self)
        }

    }

    public struct LogoutRequest: ProtoMessage {
        public var all: Bool

        public init(all: Bool = false) {
            self.all = all
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            all = try fields.value("all", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("all", all, BoolCoder.self)
        }

    }

    public struct LogoutResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListSessionsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct SessionInfo: ProtoMessage {
        public var session: String
        public var device: String
        /// Name and type as the client gave them.
        public var name: String
        public var type: String
        public var createdMs: Int64
        /// UsedMs is when the session last got tokens.
        public var usedMs: Int64
        /// Current: the session that asks.
        public var current: Bool
        /// UpToDate: the device has acknowledged all messages.
        public var upToDate: Bool
        /// BehindSinceMs is the time of the first message that the device has not acknowledged. 0 if there is none, or if it is not known.
        public var behindSinceMs: Int64

        public init(session: String = "0", device: String = "0", name: String = "", type: String = "", createdMs: Int64 = 0, usedMs: Int64 = 0, current: Bool = false, upToDate: Bool = false, behindSinceMs: Int64 = 0) {
            self.session = session
            self.device = device
            self.name = name
            self.type = type
            self.createdMs = createdMs
            self.usedMs = usedMs
            self.current = current
            self.upToDate = upToDate
            self.behindSinceMs = behindSinceMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            session = try fields.value("session", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            type = try fields.value("type", TextCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            usedMs = try fields.value("usedMs", Int64Coder.self)
            current = try fields.value("current", BoolCoder.self)
            upToDate = try fields.value("upToDate", BoolCoder.self)
            behindSinceMs = try fields.value("behindSinceMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("session", session, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("type", type, TextCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("usedMs", usedMs, Int64Coder.self)
            try fields.value("current", current, BoolCoder.self)
            try fields.value("upToDate", upToDate, BoolCoder.self)
            try fields.value("behindSinceMs", behindSinceMs, Int64Coder.self)
        }

    }

    public struct ListSessionsResponse: ProtoMessage {
        public var sessions: [AccountV1.SessionInfo]

        public init(sessions: [AccountV1.SessionInfo] = []) {
            self.sessions = sessions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            sessions = try fields.list("sessions", MessageCoder<AccountV1.SessionInfo>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("sessions", sessions, MessageCoder<AccountV1.SessionInfo>.self)
        }

    }

    public struct RevokeSessionRequest: ProtoMessage {
        public var session: String

        public init(session: String = "0") {
            self.session = session
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            session = try fields.value("session", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("session", session, IDCoder.self)
        }

    }

    public struct RevokeSessionResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ChangePasswordRequest: ProtoMessage {
        public var oldPassword: String
        /// NewPassword of 8 to 128 characters that is not easy to guess.
        public var newPassword: String

        public init(oldPassword: String = "", newPassword: String = "") {
            self.oldPassword = oldPassword
            self.newPassword = newPassword
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            oldPassword = try fields.value("oldPassword", TextCoder.self)
            newPassword = try fields.value("newPassword", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("oldPassword", oldPassword, TextCoder.self)
            try fields.value("newPassword", newPassword, TextCoder.self)
        }

    }

    public struct ChangePasswordResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CreateTicketRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CreateTicketResponse: ProtoMessage {
        public var ticket: String
        public var expiresMs: Int64

        public init(ticket: String = "", expiresMs: Int64 = 0) {
            self.ticket = ticket
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    /// GetUsersRequest names 1 to 200 users, by id or handle.
    public struct GetUsersRequest: ProtoMessage {
        public var users: [String]
        public var handles: [String]

        public init(users: [String] = [], handles: [String] = []) {
            self.users = users
            self.handles = handles
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
            handles = try fields.list("handles", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
            try fields.list("handles", handles, TextCoder.self)
        }

    }

    public struct GetUsersResponse: ProtoMessage {
        public var users: [AccountV1.User]

        public init(users: [AccountV1.User] = []) {
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    public struct SearchUsersRequest: ProtoMessage {
        /// Query of 1 to 64 characters.
        public var query: String

        public init(query: String = "") {
            self.query = query
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            query = try fields.value("query", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("query", query, TextCoder.self)
        }

    }

    public struct SearchUsersResponse: ProtoMessage {
        public var users: [AccountV1.User]

        public init(users: [AccountV1.User] = []) {
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    public struct UpdateProfileRequest: ProtoMessage {
        /// DisplayName of 1 to 64 characters, not only blanks.
        public var displayName: String?
        /// Bio of at most 500 characters.
        public var bio: String?
        /// Avatar is a completed upload of the caller's own, a picture; 0 takes it away.
        public var avatar: String?

        public init(displayName: String? = nil, bio: String? = nil, avatar: String? = nil) {
            self.displayName = displayName
            self.bio = bio
            self.avatar = avatar
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            displayName = try fields.optional("displayName", TextCoder.self)
            bio = try fields.optional("bio", TextCoder.self)
            avatar = try fields.optional("avatar", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("displayName", displayName, TextCoder.self)
            try fields.optional("bio", bio, TextCoder.self)
            try fields.optional("avatar", avatar, IDCoder.self)
        }

    }

    public struct Settings: ProtoMessage {
        /// Locale as en or zh.
        public var locale: String
        /// Theme: auto, light or dark.
        public var theme: String
        /// HideRead: nobody sees how far the user has read.
        public var hideRead: Bool
        /// WhoMayAdd: who may add the user to a group. Others invite the user, who accepts or declines; where it is nobody, they may send a join
        /// link.
        public var whoMayAdd: AccountV1.WhoMayAdd
        /// WhoMaySeePresence: who may see whether the user is online, when they were last active, and their custom status. None of those who
        /// are blocked may.
        public var whoMaySeePresence: AccountV1.WhoMaySee
        /// Availability that the user chose.
        public var availability: PresenceV1.Availability
        /// CustomStatus that the user chose; none where both emoji and text are empty.
        public var customStatus: PresenceV1.CustomStatus?
        /// NoLinkPreviews: the user's messages get no previews of links, and the server reads none of them.
        public var noLinkPreviews: Bool
        /// NoPersonalization: "for you" is ranked for the user by whom the user follows, popularity and age alone. What the user reads, likes and comments on does not count, and nothing
        /// is recorded for the training of models; what was recorded before is deleted.
        public var noPersonalization: Bool

        public init(locale: String = "", theme: String = "", hideRead: Bool = false, whoMayAdd: AccountV1.WhoMayAdd = .unspecified, whoMaySeePresence: AccountV1.WhoMaySee = .unspecified, availability: PresenceV1.Availability = .unspecified, customStatus: PresenceV1.CustomStatus? = nil, noLinkPreviews: Bool = false, noPersonalization: Bool = false) {
            self.locale = locale
            self.theme = theme
            self.hideRead = hideRead
            self.whoMayAdd = whoMayAdd
            self.whoMaySeePresence = whoMaySeePresence
            self.availability = availability
            self.customStatus = customStatus
            self.noLinkPreviews = noLinkPreviews
            self.noPersonalization = noPersonalization
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            locale = try fields.value("locale", TextCoder.self)
            theme = try fields.value("theme", TextCoder.self)
            hideRead = try fields.value("hideRead", BoolCoder.self)
            whoMayAdd = try fields.value("whoMayAdd", EnumCoder<AccountV1.WhoMayAdd>.self)
            whoMaySeePresence = try fields.value("whoMaySeePresence", EnumCoder<AccountV1.WhoMaySee>.self)
            availability = try fields.value("availability", EnumCoder<PresenceV1.Availability>.self)
            customStatus = try fields.optional("customStatus", MessageCoder<PresenceV1.CustomStatus>.self)
            noLinkPreviews = try fields.value("noLinkPreviews", BoolCoder.self)
            noPersonalization = try fields.value("noPersonalization", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("locale", locale, TextCoder.self)
            try fields.value("theme", theme, TextCoder.self)
            try fields.value("hideRead", hideRead, BoolCoder.self)
            try fields.value("whoMayAdd", whoMayAdd, EnumCoder<AccountV1.WhoMayAdd>.self)
            try fields.value("whoMaySeePresence", whoMaySeePresence, EnumCoder<AccountV1.WhoMaySee>.self)
            try fields.value("availability", availability, EnumCoder<PresenceV1.Availability>.self)
            try fields.optional("customStatus", customStatus, MessageCoder<PresenceV1.CustomStatus>.self)
            try fields.value("noLinkPreviews", noLinkPreviews, BoolCoder.self)
            try fields.value("noPersonalization", noPersonalization, BoolCoder.self)
        }

    }

    public struct GetSettingsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct UpdateSettingsRequest: ProtoMessage {
        public var settings: AccountV1.Settings?

        public init(settings: AccountV1.Settings? = nil) {
            self.settings = settings
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            settings = try fields.optional("settings", MessageCoder<AccountV1.Settings>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("settings", settings, MessageCoder<AccountV1.Settings>.self)
        }

    }

    public struct RequestFriendRequest: ProtoMessage {
        public var user: String
        /// Message to the user, of at most 500 characters.
        public var message: String

        public init(user: String = "0", message: String = "") {
            self.user = user
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    public struct AnswerFriendRequest: ProtoMessage {
        public var user: String
        public var accept: Bool

        public init(user: String = "0", accept: Bool = false) {
            self.user = user
            self.accept = accept
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            accept = try fields.value("accept", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("accept", accept, BoolCoder.self)
        }

    }

    public struct RemarkFriendRequest: ProtoMessage {
        public var user: String
        /// Remark of at most 64 characters.
        public var remark: String

        public init(user: String = "0", remark: String = "") {
            self.user = user
            self.remark = remark
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            remark = try fields.value("remark", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("remark", remark, TextCoder.self)
        }

    }

    public struct DeleteFriendRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct BlockRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct UnblockRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct FollowRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct UnfollowRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct MuteRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct UnmuteRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct ListRelationsRequest: ProtoMessage {
        /// Limit of 1 to 200; 0 means 200.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String

        public init(limit: Int = 0, page: String = "") {
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListRelationsResponse: ProtoMessage {
        public var relations: [ChatV1.Relation]
        /// Next page's token; empty at the end.
        public var next: String

        public init(relations: [ChatV1.Relation] = [], next: String = "") {
            self.relations = relations
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            relations = try fields.list("relations", MessageCoder<ChatV1.Relation>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("relations", relations, MessageCoder<ChatV1.Relation>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct SuggestFriendsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct SuggestFriendsResponse: ProtoMessage {
        public var suggestions: [AccountV1.SuggestFriendsResponse.Suggestion]

        public init(suggestions: [AccountV1.SuggestFriendsResponse.Suggestion] = []) {
            self.suggestions = suggestions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            suggestions = try fields.list("suggestions", MessageCoder<AccountV1.SuggestFriendsResponse.Suggestion>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("suggestions", suggestions, MessageCoder<AccountV1.SuggestFriendsResponse.Suggestion>.self)
        }

        public struct Suggestion: ProtoMessage {
            public var user: AccountV1.User?
            public var mutualFriends: Int

            public init(user: AccountV1.User? = nil, mutualFriends: Int = 0) {
                self.user = user
                self.mutualFriends = mutualFriends
            }

            public init(from decoder: any Decoder) throws {
                let fields = try ProtoReader(decoder)
                user = try fields.optional("user", MessageCoder<AccountV1.User>.self)
                mutualFriends = try fields.value("mutualFriends", IntCoder.self)
            }

            public func encode(to encoder: any Encoder) throws {
                var fields = ProtoWriter(encoder)
                try fields.optional("user", user, MessageCoder<AccountV1.User>.self)
                try fields.value("mutualFriends", mutualFriends, IntCoder.self)
            }

        }

    }

    public struct PutUserRequest: ProtoMessage {
        /// ExternalId is the business server's own id: 1 to 128 bytes.
        public var externalId: String
        /// Handle; where it is empty, a new user gets one, and one who exists keeps theirs.
        public var handle: String
        /// DisplayName; where it is empty, a new user shows the handle, and one who exists keeps theirs.
        public var displayName: String

        public init(externalId: String = "", handle: String = "", displayName: String = "") {
            self.externalId = externalId
            self.handle = handle
            self.displayName = displayName
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            externalId = try fields.value("externalId", TextCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            displayName = try fields.value("displayName", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("displayName", displayName, TextCoder.self)
        }

    }

    public struct PutOfficialAccountRequest: ProtoMessage {
        public var user: String
        /// Handle of the channel; absent: as it is.
        public var handle: String?
        /// Disabled: it has no mark, sends no broadcast and no automatic reply.
        public var disabled: Bool

        public init(user: String = "0", handle: String? = nil, disabled: Bool = false) {
            self.user = user
            self.handle = handle
            self.disabled = disabled
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            handle = try fields.optional("handle", TextCoder.self)
            disabled = try fields.value("disabled", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.optional("handle", handle, TextCoder.self)
            try fields.value("disabled", disabled, BoolCoder.self)
        }

    }

    public struct PutOfficialAccountResponse: ProtoMessage {
        /// Channel of the account, a conversation.
        public var channel: String

        public init(channel: String = "0") {
            self.channel = channel
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            channel = try fields.value("channel", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("channel", channel, IDCoder.self)
        }

    }

    public struct CreateSessionRequest: ProtoMessage {
        /// ExternalId of the user, or user.
        public var externalId: String
        public var user: String
        public var client: AccountV1.Client?

        public init(externalId: String = "", user: String = "0", client: AccountV1.Client? = nil) {
            self.externalId = externalId
            self.user = user
            self.client = client
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            externalId = try fields.value("externalId", TextCoder.self)
            user = try fields.value("user", IDCoder.self)
            client = try fields.optional("client", MessageCoder<AccountV1.Client>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.optional("client", client, MessageCoder<AccountV1.Client>.self)
        }

    }

    public struct RequestExportRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetExportRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct Export: ProtoMessage {
        /// Id of the export; 0: there is none.
        public var id: String
        /// RequestedMs is when it was requested, and done_ms when it was complete; 0: it is being made.
        public var requestedMs: Int64
        public var doneMs: Int64
        /// Size of the archive in bytes.
        public var size: Int64
        /// Url downloads the archive, for everybody who has it, until expires_ms; GetExport gives another one. It is absent until the export is complete, and after
        /// available_until_ms, when the archive is deleted.
        public var url: String
        public var expiresMs: Int64
        public var availableUntilMs: Int64

        public init(id: String = "0", requestedMs: Int64 = 0, doneMs: Int64 = 0, size: Int64 = 0, url: String = "", expiresMs: Int64 = 0, availableUntilMs: Int64 = 0) {
            self.id = id
            self.requestedMs = requestedMs
            self.doneMs = doneMs
            self.size = size
            self.url = url
            self.expiresMs = expiresMs
            self.availableUntilMs = availableUntilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            requestedMs = try fields.value("requestedMs", Int64Coder.self)
            doneMs = try fields.value("doneMs", Int64Coder.self)
            size = try fields.value("size", Int64Coder.self)
            url = try fields.value("url", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
            availableUntilMs = try fields.value("availableUntilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("requestedMs", requestedMs, Int64Coder.self)
            try fields.value("doneMs", doneMs, Int64Coder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("url", url, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
            try fields.value("availableUntilMs", availableUntilMs, Int64Coder.self)
        }

    }

    public struct RequestErasureRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CancelErasureRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetErasureRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct EraseUserRequest: ProtoMessage {
        /// User, or external_id of the user.
        public var user: String
        public var externalId: String
        /// Reason for the audit log, at most 500 characters.
        public var reason: String

        public init(user: String = "0", externalId: String = "", reason: String = "") {
            self.user = user
            self.externalId = externalId
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct GetUserErasureRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct Erasure: ProtoMessage {
        public var user: String
        /// RequestedMs is when it was requested; 0: none is planned.
        public var requestedMs: Int64
        /// DueMs is when it begins. Until then it can be cancelled.
        public var dueMs: Int64
        /// StartedMs is when it began, and done_ms when nothing was left; 0: not yet.
        public var startedMs: Int64
        public var doneMs: Int64
        /// Parts are what was erased so far. A step that was repeated after a crash may be counted twice.
        public var parts: [AccountV1.ErasedPart]

        public init(user: String = "0", requestedMs: Int64 = 0, dueMs: Int64 = 0, startedMs: Int64 = 0, doneMs: Int64 = 0, parts: [AccountV1.ErasedPart] = []) {
            self.user = user
            self.requestedMs = requestedMs
            self.dueMs = dueMs
            self.startedMs = startedMs
            self.doneMs = doneMs
            self.parts = parts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            requestedMs = try fields.value("requestedMs", Int64Coder.self)
            dueMs = try fields.value("dueMs", Int64Coder.self)
            startedMs = try fields.value("startedMs", Int64Coder.self)
            doneMs = try fields.value("doneMs", Int64Coder.self)
            parts = try fields.list("parts", MessageCoder<AccountV1.ErasedPart>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("requestedMs", requestedMs, Int64Coder.self)
            try fields.value("dueMs", dueMs, Int64Coder.self)
            try fields.value("startedMs", startedMs, Int64Coder.self)
            try fields.value("doneMs", doneMs, Int64Coder.self)
            try fields.list("parts", parts, MessageCoder<AccountV1.ErasedPart>.self)
        }

    }

    public struct ErasedPart: ProtoMessage {
        /// Name of the part, such as messages.
        public var name: String
        /// Erased is how many messages, rows and files.
        public var erased: Int64

        public init(name: String = "", erased: Int64 = 0) {
            self.name = name
            self.erased = erased
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            erased = try fields.value("erased", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("erased", erased, Int64Coder.self)
        }

    }

    /// ContactKind is how a contact is reached.
    public enum ContactKind: ProtoEnum {
        case unspecified
        case email
        /// PHONE: by text messages.
        case phone
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<ContactKind>] = [
            ProtoEnumValue("CONTACT_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("CONTACT_KIND_EMAIL", 1, .email),
            ProtoEnumValue("CONTACT_KIND_PHONE", 2, .phone),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// WhoMaySee something of a user.
    public enum WhoMaySee: ProtoEnum {
        /// Friends.
        case unspecified
        case everyone
        case friends
        case nobody
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<WhoMaySee>] = [
            ProtoEnumValue("WHO_MAY_SEE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("WHO_MAY_SEE_EVERYONE", 1, .everyone),
            ProtoEnumValue("WHO_MAY_SEE_FRIENDS", 2, .friends),
            ProtoEnumValue("WHO_MAY_SEE_NOBODY", 3, .nobody),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    public enum WhoMayAdd: ProtoEnum {
        /// As the server is set (account.who_may_add).
        case unspecified
        case everyone
        case friends
        case nobody
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<WhoMayAdd>] = [
            ProtoEnumValue("WHO_MAY_ADD_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("WHO_MAY_ADD_EVERYONE", 1, .everyone),
            ProtoEnumValue("WHO_MAY_ADD_FRIENDS", 2, .friends),
            ProtoEnumValue("WHO_MAY_ADD_NOBODY", 3, .nobody),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
