// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library that is smaller than a page.
__attribute__((visibility("default"))) int code_in_the_first_page(int x);

int code_in_the_first_page(int x)
{
    return x * 3;
}
