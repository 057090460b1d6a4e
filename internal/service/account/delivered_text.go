package account

import (
	"fmt"
	"strings"
	"time"
)

// change of how an account is protected.
type change string

const (
	totpAdded        change = "totp_added"
	totpRemoved      change = "totp_removed"
	recoveryReplaced change = "recovery_codes_replaced"
	recoveryUsed     change = "recovery_code_used"
	passwordReset    change = "password_reset"
	passwordChanged  change = "password_changed"
	contactChanged   change = "contact_changed"
	contactRemoved   change = "contact_removed"
	passkeyAdded     change = "passkey_added"
	passkeyRemoved   change = "passkey_removed"
)

const (
	sentCodeMinutes    = int(sentCodeLifetime / time.Minute)
	chineseLocale      = "zh"
	codeSubjectEn      = "%s: your code"
	codeSubjectZh      = "%s：验证码"
	noticeSubjectEn    = "%s: your account was changed"
	noticeSubjectZh    = "%s：账号变更提醒"
	noticeHelpEn       = "If it was not you, reset your password, and in the settings end all sessions and remove the passkeys that are not yours."
	noticeHelpZh       = "如果不是你本人操作，请重置密码，并在设置中退出所有设备、移除不属于你的通行密钥。"
	codeWarningEnglish = "Nobody else needs it: do not pass it on. If you did not ask for it, you need not do anything."
	codeWarningChinese = "请勿将验证码告诉他人。如果不是你本人操作，请忽略此消息。"
)

func isChinese(locale string) bool {
	return locale == chineseLocale || strings.HasPrefix(locale, "zh-")
}

// codeText returns the subject and the text of an email with a code. The first line is the text of a text message.
func codeText(p purpose, code, locale, product string) (subject, text string) {
	if isChinese(locale) {
		what := map[purpose]string{purposeLogin: "登录", purposeReset: "重置密码", purposeContact: "确认此地址"}[p]
		return fmt.Sprintf(codeSubjectZh, product), fmt.Sprintf("%s：%s验证码 %s，%d 分钟内有效。\n\n%s\n", product, what, code, sentCodeMinutes, codeWarningChinese)
	}
	what := map[purpose]string{purposeLogin: "to sign in", purposeReset: "to reset your password", purposeContact: "to confirm this address"}[p]
	return fmt.Sprintf(codeSubjectEn, product), fmt.Sprintf("%s: your code %s is %s. It works for %d minutes.\n\n%s\n", product, what, code, sentCodeMinutes, codeWarningEnglish)
}

var noticesEn = map[change]string{
	totpAdded: "two-step sign-in was turned on", totpRemoved: "two-step sign-in was turned off", recoveryReplaced: "new recovery codes were made", recoveryUsed: "a recovery code was used",
	passwordReset: "the password was reset, and all devices were signed out", passwordChanged: "the password was changed, and the other devices were signed out",
	contactChanged: "an email address or a phone number was added or changed", contactRemoved: "an email address or a phone number was removed",
	passkeyAdded: "a passkey was added, which signs in without the password", passkeyRemoved: "a passkey was removed",
}

var noticesZh = map[change]string{
	totpAdded: "已开启两步验证", totpRemoved: "已关闭两步验证", recoveryReplaced: "已生成新的恢复码", recoveryUsed: "使用了一个恢复码",
	passwordReset: "密码已重置，所有设备均已退出登录", passwordChanged: "密码已修改，其他设备均已退出登录",
	contactChanged: "已添加或更改邮箱地址或手机号", contactRemoved: "已移除邮箱地址或手机号",
	passkeyAdded: "已添加通行密钥，可用于免密码登录", passkeyRemoved: "已移除通行密钥",
}

// noticeText returns the subject and the text of an email about a change.
func noticeText(n noticeJob, product string) (subject, text string) {
	if isChinese(n.Locale) {
		return fmt.Sprintf(noticeSubjectZh, product), fmt.Sprintf("%s：你的账号 @%s %s。\n\n%s\n", product, n.Handle, noticesZh[n.Change], noticeHelpZh)
	}
	return fmt.Sprintf(noticeSubjectEn, product), fmt.Sprintf("%s: in your account @%s, %s.\n\n%s\n", product, n.Handle, noticesEn[n.Change], noticeHelpEn)
}
