// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>

#include "report/resource_label.h"

Test(resource_label, keys)
{
	cr_assert(resource_label_has_key("service.name"));
	cr_assert(resource_label_has_key("k8s.pod.uid"));
	cr_assert(resource_label_has_key(REPORT_RESOURCE "team"));
	cr_assert_not(resource_label_has_key("services"));
	cr_assert_not(resource_label_has_key("team"));
	cr_assert_str_eq(resource_label_plain(REPORT_RESOURCE "team"), "team");
	cr_assert_str_eq(resource_label_plain("team"), "team");
}
