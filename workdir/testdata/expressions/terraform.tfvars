given        = "file"
given_number = "7.0"
not_null     = null
