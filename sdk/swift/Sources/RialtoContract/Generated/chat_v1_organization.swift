// Made from rialto/chat/v1/organization.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// OrganizationService: companies with a tree of departments, their members, groups that follow a department, and who may write to whom. All
    /// calls need an access token, or an API key and the header Rialto-User for the user on whose behalf the call is made. For users who are not
    /// its members, an organization does not exist.
    public enum OrganizationService {
        /// CreateOrganization makes an organization with an owner. It needs an API key: an organization decides about others' messages. With a key, a
        /// retry gives the first one again.
        public static let createOrganization = RialtoContract.Call<ChatV1.CreateOrganizationRequest, ChatV1.Organization>("rialto.chat.v1.OrganizationService/CreateOrganization")
        /// GetOrganization gives an organization to its members.
        public static let getOrganization = RialtoContract.Call<ChatV1.GetOrganizationRequest, ChatV1.Organization>("rialto.chat.v1.OrganizationService/GetOrganization")
        /// ListOrganizations gives the organizations that the caller is a member of, by id, at most 20.
        public static let listOrganizations = RialtoContract.Call<ChatV1.ListOrganizationsRequest, ChatV1.ListOrganizationsResponse>("rialto.chat.v1.OrganizationService/ListOrganizations")
        /// UpdateOrganization sets what is given; absent fields stay. Admins may.
        public static let updateOrganization = RialtoContract.Call<ChatV1.UpdateOrganizationRequest, ChatV1.Organization>("rialto.chat.v1.OrganizationService/UpdateOrganization")
        /// PutDepartments adds and changes departments, all or none. Admins may.
        public static let putDepartments = RialtoContract.Call<ChatV1.PutDepartmentsRequest, ChatV1.PutDepartmentsResponse>("rialto.chat.v1.OrganizationService/PutDepartments")
        /// RemoveDepartments removes departments that are empty, all or none. Those that do not exist are passed over. Admins may.
        public static let removeDepartments = RialtoContract.Call<ChatV1.RemoveDepartmentsRequest, ChatV1.RemoveDepartmentsResponse>("rialto.chat.v1.OrganizationService/RemoveDepartments")
        /// ListDepartments gives a page of the departments below one, by position and id. Hidden ones are left out for others than their members and
        /// admins, so that a page may be shorter than its limit.
        public static let listDepartments = RialtoContract.Call<ChatV1.ListDepartmentsRequest, ChatV1.ListDepartmentsResponse>("rialto.chat.v1.OrganizationService/ListDepartments")
        /// PutOrganizationMembers adds and changes members, all or none. Repeating it changes nothing. Admins may, of new members those who let
        /// the admin add them to groups.
        public static let putOrganizationMembers = RialtoContract.Call<ChatV1.PutOrganizationMembersRequest, ChatV1.PutOrganizationMembersResponse>("rialto.chat.v1.OrganizationService/PutOrganizationMembers")
        /// RemoveOrganizationMembers ends memberships. When it returns, the users are out of the organization's groups. Those who are no members are
        /// passed over. Admins may. Each member may leave: users is then the caller alone. The owner can neither leave nor be removed.
        public static let removeOrganizationMembers = RialtoContract.Call<ChatV1.RemoveOrganizationMembersRequest, ChatV1.RemoveOrganizationMembersResponse>("rialto.chat.v1.OrganizationService/RemoveOrganizationMembers")
        /// InviteToOrganization asks users to become members. Those who are members, or are invited already, are passed over. Admins may.
        public static let inviteToOrganization = RialtoContract.Call<ChatV1.InviteToOrganizationRequest, ChatV1.InviteToOrganizationResponse>("rialto.chat.v1.OrganizationService/InviteToOrganization")
        /// ListOrganizationInvitations gives the caller's own invitations, the newest 50. With an organization, it gives a page of the users whom that
        /// has invited, by user id, which admins may.
        public static let listOrganizationInvitations = RialtoContract.Call<ChatV1.ListOrganizationInvitationsRequest, ChatV1.ListOrganizationInvitationsResponse>("rialto.chat.v1.OrganizationService/ListOrganizationInvitations")
        /// AnswerOrganizationInvitation makes the caller a member, or declines the invitation.
        public static let answerOrganizationInvitation = RialtoContract.Call<ChatV1.AnswerOrganizationInvitationRequest, ChatV1.AnswerOrganizationInvitationResponse>("rialto.chat.v1.OrganizationService/AnswerOrganizationInvitation")
        /// CancelOrganizationInvitation takes an invitation back. One that does not exist is passed over. Admins may.
        public static let cancelOrganizationInvitation = RialtoContract.Call<ChatV1.CancelOrganizationInvitationRequest, ChatV1.CancelOrganizationInvitationResponse>("rialto.chat.v1.OrganizationService/CancelOrganizationInvitation")
        /// TransferOrganization makes another member the owner. The former owner remains, as an admin. The owner may.
        public static let transferOrganization = RialtoContract.Call<ChatV1.TransferOrganizationRequest, ChatV1.Organization>("rialto.chat.v1.OrganizationService/TransferOrganization")
        /// ListOrganizationMembers gives a page of the address book: of a department, by user id, or of all by name or title. Members of hidden
        /// departments only are left out for others, so that a page may be shorter than its limit.
        public static let listOrganizationMembers = RialtoContract.Call<ChatV1.ListOrganizationMembersRequest, ChatV1.ListOrganizationMembersResponse>("rialto.chat.v1.OrganizationService/ListOrganizationMembers")
        /// CreateOrganizationGroup makes a group that follows a department, which admins may, or a circle: a group of selected members, which each
        /// member may. The caller owns it. The members of a department join and leave as the department changes, a moment later.
        public static let createOrganizationGroup = RialtoContract.Call<ChatV1.CreateOrganizationGroupRequest, ChatV1.CreateOrganizationGroupResponse>("rialto.chat.v1.OrganizationService/CreateOrganizationGroup")
        /// ImportOrganizationMembers adds and changes members and departments by CSV, or says what it would change. It removes nobody. Repeating it
        /// changes nothing. Admins may.
        public static let importOrganizationMembers = RialtoContract.Call<ChatV1.ImportOrganizationMembersRequest, ChatV1.ImportOrganizationMembersResponse>("rialto.chat.v1.OrganizationService/ImportOrganizationMembers")
    }

    /// Organization is a company.
    public struct Organization: ProtoMessage {
        public var id: String
        public var name: String
        public var owner: String
        public var messaging: ChatV1.OrganizationMessaging
        /// ColleaguesAreFriends: members write to one another where only friends may (who_may_write: friends).
        public var colleaguesAreFriends: Bool
        /// HidePhones: only admins see others' phone numbers.
        public var hidePhones: Bool
        /// Members, how many.
        public var members: Int
        /// Role of the caller.
        public var role: ChatV1.OrganizationRole
        /// Revision rises with each change of the organization, its departments and its members.
        public var revision: String

        public init(id: String = "0", name: String = "", owner: String = "0", messaging: ChatV1.OrganizationMessaging = .unspecified, colleaguesAreFriends: Bool = false, hidePhones: Bool = false, members: Int = 0, role: ChatV1.OrganizationRole = .unspecified, revision: String = "0") {
            self.id = id
            self.name = name
            self.owner = owner
            self.messaging = messaging
            self.colleaguesAreFriends = colleaguesAreFriends
            self.hidePhones = hidePhones
            self.members = members
            self.role = role
            self.revision = revision
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            messaging = try fields.value("messaging", EnumCoder<ChatV1.OrganizationMessaging>.self)
            colleaguesAreFriends = try fields.value("colleaguesAreFriends", BoolCoder.self)
            hidePhones = try fields.value("hidePhones", BoolCoder.self)
            members = try fields.value("members", IntCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.OrganizationRole>.self)
            revision = try fields.value("revision", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("messaging", messaging, EnumCoder<ChatV1.OrganizationMessaging>.self)
            try fields.value("colleaguesAreFriends", colleaguesAreFriends, BoolCoder.self)
            try fields.value("hidePhones", hidePhones, BoolCoder.self)
            try fields.value("members", members, IntCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.OrganizationRole>.self)
            try fields.value("revision", revision, IDCoder.self)
        }

    }

    public struct CreateOrganizationRequest: ProtoMessage {
        /// Name of 1 to 100 characters.
        public var name: String
        /// Key, at most 64 bytes: a second call of the same owner with it gives the first organization.
        public var key: String
        /// Owner of the organization, and its first member.
        public var owner: String

        public init(name: String = "", key: String = "", owner: String = "0") {
            self.name = name
            self.key = key
            self.owner = owner
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            key = try fields.value("key", TextCoder.self)
            owner = try fields.value("owner", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("owner", owner, IDCoder.self)
        }

    }

    public struct GetOrganizationRequest: ProtoMessage {
        public var organization: String

        public init(organization: String = "0") {
            self.organization = organization
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
        }

    }

    public struct ListOrganizationsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListOrganizationsResponse: ProtoMessage {
        public var organizations: [ChatV1.Organization]

        public init(organizations: [ChatV1.Organization] = []) {
            self.organizations = organizations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organizations = try fields.list("organizations", MessageCoder<ChatV1.Organization>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("organizations", organizations, MessageCoder<ChatV1.Organization>.self)
        }

    }

    public struct UpdateOrganizationRequest: ProtoMessage {
        public var organization: String
        public var name: String?
        public var messaging: ChatV1.OrganizationMessaging?
        public var colleaguesAreFriends: Bool?
        public var hidePhones: Bool?

        public init(organization: String = "0", name: String? = nil, messaging: ChatV1.OrganizationMessaging? = nil, colleaguesAreFriends: Bool? = nil, hidePhones: Bool? = nil) {
            self.organization = organization
            self.name = name
            self.messaging = messaging
            self.colleaguesAreFriends = colleaguesAreFriends
            self.hidePhones = hidePhones
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            name = try fields.optional("name", TextCoder.self)
            messaging = try fields.optional("messaging", EnumCoder<ChatV1.OrganizationMessaging>.self)
            colleaguesAreFriends = try fields.optional("colleaguesAreFriends", BoolCoder.self)
            hidePhones = try fields.optional("hidePhones", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.optional("name", name, TextCoder.self)
            try fields.optional("messaging", messaging, EnumCoder<ChatV1.OrganizationMessaging>.self)
            try fields.optional("colleaguesAreFriends", colleaguesAreFriends, BoolCoder.self)
            try fields.optional("hidePhones", hidePhones, BoolCoder.self)
        }

    }

    /// Department of an organization.
    public struct Department: ProtoMessage {
        public var id: String
        /// Parent, or 0 at the top.
        public var parent: String
        public var name: String
        /// ExternalId is the directory's own id.
        public var externalId: String
        /// Position among those of the same parent, ascending.
        public var position: Int
        /// Hidden, with all below it, from others than its members and admins.
        public var hidden: Bool
        /// Members, how many, without those of the departments below.
        public var members: Int

        public init(id: String = "0", parent: String = "0", name: String = "", externalId: String = "", position: Int = 0, hidden: Bool = false, members: Int = 0) {
            self.id = id
            self.parent = parent
            self.name = name
            self.externalId = externalId
            self.position = position
            self.hidden = hidden
            self.members = members
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            parent = try fields.value("parent", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            position = try fields.value("position", IntCoder.self)
            hidden = try fields.value("hidden", BoolCoder.self)
            members = try fields.value("members", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("position", position, IntCoder.self)
            try fields.value("hidden", hidden, BoolCoder.self)
            try fields.value("members", members, IntCoder.self)
        }

    }

    /// DepartmentInput adds a department, or changes the one that has its id or external id.
    public struct DepartmentInput: ProtoMessage {
        public var id: String
        /// ExternalId of at most 64 bytes.
        public var externalId: String
        /// Parent; 0 with no parent_external_id: at the top.
        public var parent: String
        /// ParentExternalId in place of parent; the parent may be earlier in the same call.
        public var parentExternalId: String
        /// Name of 1 to 100 characters.
        public var name: String
        public var position: Int
        public var hidden: Bool

        public init(id: String = "0", externalId: String = "", parent: String = "0", parentExternalId: String = "", name: String = "", position: Int = 0, hidden: Bool = false) {
            self.id = id
            self.externalId = externalId
            self.parent = parent
            self.parentExternalId = parentExternalId
            self.name = name
            self.position = position
            self.hidden = hidden
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            parent = try fields.value("parent", IDCoder.self)
            parentExternalId = try fields.value("parentExternalId", TextCoder.self)
            name = try fields.value("name", TextCoder.self)
            position = try fields.value("position", IntCoder.self)
            hidden = try fields.value("hidden", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("parentExternalId", parentExternalId, TextCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("position", position, IntCoder.self)
            try fields.value("hidden", hidden, BoolCoder.self)
        }

    }

    public struct PutDepartmentsRequest: ProtoMessage {
        public var organization: String
        /// Departments, 1 to 200. An organization has at most 10,000, and at most 16 below one another.
        public var departments: [ChatV1.DepartmentInput]

        public init(organization: String = "0", departments: [ChatV1.DepartmentInput] = []) {
            self.organization = organization
            self.departments = departments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            departments = try fields.list("departments", MessageCoder<ChatV1.DepartmentInput>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.list("departments", departments, MessageCoder<ChatV1.DepartmentInput>.self)
        }

    }

    public struct PutDepartmentsResponse: ProtoMessage {
        public var departments: [ChatV1.Department]

        public init(departments: [ChatV1.Department] = []) {
            self.departments = departments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            departments = try fields.list("departments", MessageCoder<ChatV1.Department>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("departments", departments, MessageCoder<ChatV1.Department>.self)
        }

    }

    public struct RemoveDepartmentsRequest: ProtoMessage {
        public var organization: String
        /// Departments, 1 to 200; those below others first.
        public var departments: [String]

        public init(organization: String = "0", departments: [String] = []) {
            self.organization = organization
            self.departments = departments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            departments = try fields.list("departments", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.list("departments", departments, IDCoder.self)
        }

    }

    public struct RemoveDepartmentsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListDepartmentsRequest: ProtoMessage {
        public var organization: String
        /// Parent, or 0 for those at the top.
        public var parent: String
        /// Limit, at most 200; 0: 200.
        public var limit: Int
        /// Page is next of the page before.
        public var page: String

        public init(organization: String = "0", parent: String = "0", limit: Int = 0, page: String = "") {
            self.organization = organization
            self.parent = parent
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            parent = try fields.value("parent", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListDepartmentsResponse: ProtoMessage {
        public var departments: [ChatV1.Department]
        /// Next page; empty: this is the last.
        public var next: String

        public init(departments: [ChatV1.Department] = [], next: String = "") {
            self.departments = departments
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            departments = try fields.list("departments", MessageCoder<ChatV1.Department>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("departments", departments, MessageCoder<ChatV1.Department>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// OrganizationMember is a row of the address book.
    public struct OrganizationMember: ProtoMessage {
        public var user: String
        public var name: String
        public var title: String
        public var employeeNumber: String
        /// Phone, unless it is hidden from the caller.
        public var phone: String
        public var role: ChatV1.OrganizationRole
        public var departments: [ChatV1.DepartmentMembership]

        public init(user: String = "0", name: String = "", title: String = "", employeeNumber: String = "", phone: String = "", role: ChatV1.OrganizationRole = .unspecified, departments: [ChatV1.DepartmentMembership] = []) {
            self.user = user
            self.name = name
            self.title = title
            self.employeeNumber = employeeNumber
            self.phone = phone
            self.role = role
            self.departments = departments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            title = try fields.value("title", TextCoder.self)
            employeeNumber = try fields.value("employeeNumber", TextCoder.self)
            phone = try fields.value("phone", TextCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.OrganizationRole>.self)
            departments = try fields.list("departments", MessageCoder<ChatV1.DepartmentMembership>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("employeeNumber", employeeNumber, TextCoder.self)
            try fields.value("phone", phone, TextCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.OrganizationRole>.self)
            try fields.list("departments", departments, MessageCoder<ChatV1.DepartmentMembership>.self)
        }

    }

    /// DepartmentMembership is one of a member's departments.
    public struct DepartmentMembership: ProtoMessage {
        public var department: String
        public var manager: Bool

        public init(department: String = "0", manager: Bool = false) {
            self.department = department
            self.manager = manager
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            department = try fields.value("department", IDCoder.self)
            manager = try fields.value("manager", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("department", department, IDCoder.self)
            try fields.value("manager", manager, BoolCoder.self)
        }

    }

    /// OrganizationMemberInput names a member by user, else by the user's external id, else by the employee number of a member. It replaces
    /// everything that the organization has of the member.
    public struct OrganizationMemberInput: ProtoMessage {
        public var user: String
        /// ExternalId is the app's own id of the user.
        public var externalId: String
        /// EmployeeNumber of at most 64 characters; an organization has each once.
        public var employeeNumber: String
        /// Name of at most 100 characters; empty: that of the user's profile.
        public var name: String
        /// Title of at most 100 characters.
        public var title: String
        /// Phone of at most 32 characters.
        public var phone: String
        /// Departments, at most 20.
        public var departments: [ChatV1.DepartmentMembership]
        /// Admin of the organization. The owner stays the owner.
        public var admin: Bool

        public init(user: String = "0", externalId: String = "", employeeNumber: String = "", name: String = "", title: String = "", phone: String = "", departments: [ChatV1.DepartmentMembership] = [], admin: Bool = false) {
            self.user = user
            self.externalId = externalId
            self.employeeNumber = employeeNumber
            self.name = name
            self.title = title
            self.phone = phone
            self.departments = departments
            self.admin = admin
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            employeeNumber = try fields.value("employeeNumber", TextCoder.self)
            name = try fields.value("name", TextCoder.self)
            title = try fields.value("title", TextCoder.self)
            phone = try fields.value("phone", TextCoder.self)
            departments = try fields.list("departments", MessageCoder<ChatV1.DepartmentMembership>.self)
            admin = try fields.value("admin", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("employeeNumber", employeeNumber, TextCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("phone", phone, TextCoder.self)
            try fields.list("departments", departments, MessageCoder<ChatV1.DepartmentMembership>.self)
            try fields.value("admin", admin, BoolCoder.self)
        }

    }

    public struct PutOrganizationMembersRequest: ProtoMessage {
        public var organization: String
        /// Members, 1 to 200. An organization has at most 200,000, and a user is in at most 20.
        public var members: [ChatV1.OrganizationMemberInput]

        public init(organization: String = "0", members: [ChatV1.OrganizationMemberInput] = []) {
            self.organization = organization
            self.members = members
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            members = try fields.list("members", MessageCoder<ChatV1.OrganizationMemberInput>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.list("members", members, MessageCoder<ChatV1.OrganizationMemberInput>.self)
        }

    }

    public struct PutOrganizationMembersResponse: ProtoMessage {
        public var added: Int
        public var changed: Int
        /// Users in the order of the request.
        public var users: [String]

        public init(added: Int = 0, changed: Int = 0, users: [String] = []) {
            self.added = added
            self.changed = changed
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            added = try fields.value("added", IntCoder.self)
            changed = try fields.value("changed", IntCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("added", added, IntCoder.self)
            try fields.value("changed", changed, IntCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct RemoveOrganizationMembersRequest: ProtoMessage {
        public var organization: String
        /// Users, 1 to 200.
        public var users: [String]

        public init(organization: String = "0", users: [String] = []) {
            self.organization = organization
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct RemoveOrganizationMembersResponse: ProtoMessage {
        public var removed: Int

        public init(removed: Int = 0) {
            self.removed = removed
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            removed = try fields.value("removed", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("removed", removed, IntCoder.self)
        }

    }

    public struct InviteToOrganizationRequest: ProtoMessage {
        public var organization: String
        /// Users, 1 to 200. An organization has at most 1,000 invitations.
        public var users: [String]

        public init(organization: String = "0", users: [String] = []) {
            self.organization = organization
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    /// InviteToOrganizationResponse says how many users were invited.
    public struct InviteToOrganizationResponse: ProtoMessage {
        public var invited: Int

        public init(invited: Int = 0) {
            self.invited = invited
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            invited = try fields.value("invited", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("invited", invited, IntCoder.self)
        }

    }

    public struct ListOrganizationInvitationsRequest: ProtoMessage {
        /// Organization; 0: the caller's own invitations.
        public var organization: String
        /// Limit of a page, at most 200; 0: 200.
        public var limit: Int
        /// Page is next of the page before.
        public var page: String

        public init(organization: String = "0", limit: Int = 0, page: String = "") {
            self.organization = organization
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListOrganizationInvitationsResponse: ProtoMessage {
        public var invitations: [ChatV1.OrganizationInvitation]
        /// Next page; empty: this is the last.
        public var next: String

        public init(invitations: [ChatV1.OrganizationInvitation] = [], next: String = "") {
            self.invitations = invitations
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            invitations = try fields.list("invitations", MessageCoder<ChatV1.OrganizationInvitation>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("invitations", invitations, MessageCoder<ChatV1.OrganizationInvitation>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// OrganizationInvitation asks a user to become a member.
    public struct OrganizationInvitation: ProtoMessage {
        public var organization: String
        /// Name of the organization.
        public var name: String
        public var user: String
        /// The admin who invited. The invitation ends when this user is no longer an admin.
        public var inviter: String
        public var timeMs: Int64

        public init(organization: String = "0", name: String = "", user: String = "0", inviter: String = "0", timeMs: Int64 = 0) {
            self.organization = organization
            self.name = name
            self.user = user
            self.inviter = inviter
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            user = try fields.value("user", IDCoder.self)
            inviter = try fields.value("inviter", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("inviter", inviter, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct AnswerOrganizationInvitationRequest: ProtoMessage {
        public var organization: String
        public var accept: Bool

        public init(organization: String = "0", accept: Bool = false) {
            self.organization = organization
            self.accept = accept
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            accept = try fields.value("accept", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("accept", accept, BoolCoder.self)
        }

    }

    public struct AnswerOrganizationInvitationResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CancelOrganizationInvitationRequest: ProtoMessage {
        public var organization: String
        public var user: String

        public init(organization: String = "0", user: String = "0") {
            self.organization = organization
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct CancelOrganizationInvitationResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct TransferOrganizationRequest: ProtoMessage {
        public var organization: String
        /// The member who becomes the owner.
        public var user: String

        public init(organization: String = "0", user: String = "0") {
            self.organization = organization
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct ListOrganizationMembersRequest: ProtoMessage {
        public var organization: String
        /// Department, or 0 for the whole organization.
        public var department: String
        /// NamePrefix gives the members whose name begins with it, whatever the case, by name.
        public var namePrefix: String
        /// TitlePrefix gives the members whose title begins with it, by title.
        public var titlePrefix: String
        /// Limit, at most 200; 0: 200.
        public var limit: Int
        /// Page is next of the page before.
        public var page: String
        /// Users gives these, at most 200, in place of a page.
        public var users: [String]

        public init(organization: String = "0", department: String = "0", namePrefix: String = "", titlePrefix: String = "", limit: Int = 0, page: String = "", users: [String] = []) {
            self.organization = organization
            self.department = department
            self.namePrefix = namePrefix
            self.titlePrefix = titlePrefix
            self.limit = limit
            self.page = page
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            department = try fields.value("department", IDCoder.self)
            namePrefix = try fields.value("namePrefix", TextCoder.self)
            titlePrefix = try fields.value("titlePrefix", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("department", department, IDCoder.self)
            try fields.value("namePrefix", namePrefix, TextCoder.self)
            try fields.value("titlePrefix", titlePrefix, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct ListOrganizationMembersResponse: ProtoMessage {
        public var members: [ChatV1.OrganizationMember]
        /// Next page; empty: this is the last.
        public var next: String

        public init(members: [ChatV1.OrganizationMember] = [], next: String = "") {
            self.members = members
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            members = try fields.list("members", MessageCoder<ChatV1.OrganizationMember>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("members", members, MessageCoder<ChatV1.OrganizationMember>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct CreateOrganizationGroupRequest: ProtoMessage {
        public var organization: String
        /// Title of 1 to 100 characters.
        public var title: String
        /// Department that the group follows; 0: the group is a circle.
        public var department: String
        /// Below: with the departments below it.
        public var below: Bool
        /// Members of a circle, at most 500, without the caller. All are members of the organization.
        public var members: [String]
        /// Key, 1 to 64 bytes: a second call with it gives the first group.
        public var key: String

        public init(organization: String = "0", title: String = "", department: String = "0", below: Bool = false, members: [String] = [], key: String = "") {
            self.organization = organization
            self.title = title
            self.department = department
            self.below = below
            self.members = members
            self.key = key
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            title = try fields.value("title", TextCoder.self)
            department = try fields.value("department", IDCoder.self)
            below = try fields.value("below", BoolCoder.self)
            members = try fields.list("members", IDCoder.self)
            key = try fields.value("key", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("department", department, IDCoder.self)
            try fields.value("below", below, BoolCoder.self)
            try fields.list("members", members, IDCoder.self)
            try fields.value("key", key, TextCoder.self)
        }

    }

    public struct CreateOrganizationGroupResponse: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct ImportOrganizationMembersRequest: ProtoMessage {
        public var organization: String
        /// Csv in UTF-8, with the names of its columns in the first line, and at most 2,000 rows after it; at most 512 KiB.
        public var csv: String
        /// FirstLine is the number that errors give to the line after the names; 0: 2. For a file that is sent in parts.
        public var firstLine: Int
        /// DryRun changes nothing.
        public var dryRun: Bool
        /// Partial applies the lines without errors. Else an error in any line means that nothing is changed.
        public var partial: Bool

        public init(organization: String = "0", csv: String = "", firstLine: Int = 0, dryRun: Bool = false, partial: Bool = false) {
            self.organization = organization
            self.csv = csv
            self.firstLine = firstLine
            self.dryRun = dryRun
            self.partial = partial
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            organization = try fields.value("organization", IDCoder.self)
            csv = try fields.value("csv", TextCoder.self)
            firstLine = try fields.value("firstLine", IntCoder.self)
            dryRun = try fields.value("dryRun", BoolCoder.self)
            partial = try fields.value("partial", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("organization", organization, IDCoder.self)
            try fields.value("csv", csv, TextCoder.self)
            try fields.value("firstLine", firstLine, IntCoder.self)
            try fields.value("dryRun", dryRun, BoolCoder.self)
            try fields.value("partial", partial, BoolCoder.self)
        }

    }

    public struct ImportOrganizationMembersResponse: ProtoMessage {
        /// Errors, the first 100, by line.
        public var errors: [ChatV1.ImportError]
        /// Wrong lines in all.
        public var wrong: Int
        public var added: Int
        public var changed: Int
        public var unchanged: Int
        public var departmentsAdded: Int
        /// Changes, the first 100: one text for each member or department.
        public var changes: [String]

        public init(errors: [ChatV1.ImportError] = [], wrong: Int = 0, added: Int = 0, changed: Int = 0, unchanged: Int = 0, departmentsAdded: Int = 0, changes: [String] = []) {
            self.errors = errors
            self.wrong = wrong
            self.added = added
            self.changed = changed
            self.unchanged = unchanged
            self.departmentsAdded = departmentsAdded
            self.changes = changes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            errors = try fields.list("errors", MessageCoder<ChatV1.ImportError>.self)
            wrong = try fields.value("wrong", IntCoder.self)
            added = try fields.value("added", IntCoder.self)
            changed = try fields.value("changed", IntCoder.self)
            unchanged = try fields.value("unchanged", IntCoder.self)
            departmentsAdded = try fields.value("departmentsAdded", IntCoder.self)
            changes = try fields.list("changes", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("errors", errors, MessageCoder<ChatV1.ImportError>.self)
            try fields.value("wrong", wrong, IntCoder.self)
            try fields.value("added", added, IntCoder.self)
            try fields.value("changed", changed, IntCoder.self)
            try fields.value("unchanged", unchanged, IntCoder.self)
            try fields.value("departmentsAdded", departmentsAdded, IntCoder.self)
            try fields.list("changes", changes, TextCoder.self)
        }

    }

    /// ImportError says what is wrong in a line.
    public struct ImportError: ProtoMessage {
        public var line: Int
        public var reason: String
        public var message: String

        public init(line: Int = 0, reason: String = "", message: String = "") {
            self.line = line
            self.reason = reason
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            line = try fields.value("line", IntCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("line", line, IntCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    /// OrganizationMessaging says with whom members have one-to-one conversations. If several organizations of two users decide about them, the
    /// strictest wins. A block always wins.
    public enum OrganizationMessaging: ProtoEnum {
        case unspecified
        /// Everyone: the organization refuses nothing.
        case everyone
        /// Organization: with all members, and with friends outside.
        case organization
        /// Inside: with all members, and with nobody outside.
        case inside
        /// Department: with the members of the same department, and of those above and below it, and with nobody else.
        case department
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<OrganizationMessaging>] = [
            ProtoEnumValue("ORGANIZATION_MESSAGING_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ORGANIZATION_MESSAGING_EVERYONE", 1, .everyone),
            ProtoEnumValue("ORGANIZATION_MESSAGING_ORGANIZATION", 2, .organization),
            ProtoEnumValue("ORGANIZATION_MESSAGING_INSIDE", 3, .inside),
            ProtoEnumValue("ORGANIZATION_MESSAGING_DEPARTMENT", 4, .department),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// OrganizationRole of a member.
    public enum OrganizationRole: ProtoEnum {
        case unspecified
        case member
        case admin
        case owner
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<OrganizationRole>] = [
            ProtoEnumValue("ORGANIZATION_ROLE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ORGANIZATION_ROLE_MEMBER", 1, .member),
            ProtoEnumValue("ORGANIZATION_ROLE_ADMIN", 2, .admin),
            ProtoEnumValue("ORGANIZATION_ROLE_OWNER", 3, .owner),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
