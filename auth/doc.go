// Package auth finds and stores the API tokens of hosts. It is meant for 1.0.
//
//	tokens := auth.Cached(auth.Chain(
//		auth.Environ(os.Environ()),
//		auth.Helper{Path: "/usr/local/lib/terraform-credentials-vault"},
//	), time.Hour)
//	token, err := tokens.Token(ctx, host)
//
// A token belongs to a hostname in addresses, not to the server that answers.
//
// See https://opentofu.org/docs/cli/config/config-file/#credentials.
package auth
